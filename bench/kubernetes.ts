/**
 * The figures of cluster regions, on the cluster that KUBECONFIG, REGISTRY, INGRESS and DOMAIN describe: cold start and
 * throughput of a function against the same Knative Service applied with kubectl; 500 environments; rolling updates under
 * load; Longshore away for some minutes; a node killed (needs CLUSTER_SCRIPT, a program with `kill-node N` and `start-node
 * N`); deployments and job runs while Longshore and, with CLUSTER_PIDS (a folder with the pid files of apiserver,
 * controller-manager and scheduler), these are killed. Without a name all of them. REGION_SETTINGS: JSON of what the regions
 * file says of the cluster besides, such as annotations for the ingress.
 *
 * Run: npm run build && npm run bench -- kubernetes [cold-start|throughput|many|rolling|outage|node|restarts] [number]
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
