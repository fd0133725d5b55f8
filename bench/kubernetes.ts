/**
 * The figures of cluster regions, all or one, on the cluster that KUBECONFIG, REGISTRY, INGRESS and DOMAIN
 * describe. REGION_SETTINGS: JSON of other settings of the regions file, such as annotations for the ingress.
 *
 *   cold-start, throughput  of a function, against the same Knative Service applied with kubectl
 *   many                    500 environments
 *   rolling                 rolling updates under load
 *   outage                  Longshore away for some minutes
 *   node                    a node killed by CLUSTER_SCRIPT, a program with `kill-node N` and `start-node N`
 *   restarts                deployments and job runs while Longshore is killed and, with CLUSTER_PIDS (a
 *                           folder with the pid files of apiserver, controller-manager and scheduler), these
 *                           too
 *
 *   npm run build && npm run bench -- kubernetes [NAME] [number]
 */
import { coldStart, throughput } from './kubernetes/functions.ts'
import { many } from './kubernetes/many.ts'
import { node } from './kubernetes/node.ts'
import { outage } from './kubernetes/outage.ts'
import { restarts } from './kubernetes/restarts.ts'
import { rolling } from './kubernetes/rolling.ts'

const parts = { 'cold-start': coldStart, throughput, many, rolling, outage, node, restarts }
const [name, number] = process.argv.slice(2)
const chosen = Object.entries(parts).filter(([part]) => name === undefined || part === name)
if (chosen.length === 0) throw new Error(`no such part; there are ${Object.keys(parts).join(', ')}`)
for (const [part, run] of chosen) {
  for (const line of await run(number === undefined ? undefined : Number(number)))
    process.stdout.write(`${part}: ${line}\n`)
}
