import { execFile, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { readConfigFile } from '../../../src/config/file.ts'
import { autoscalingDefaults } from '../../../src/contract/app-envs.ts'
import { metadataRanges } from '../../../src/domain/environments/metadata-ranges.ts'
import { randomText } from '../../../src/domain/ids.ts'
import { jobManifests } from '../../../src/regions/kubernetes/jobs/manifest.ts'
import { accountManifests } from '../../../src/regions/kubernetes/manifests/account.ts'
import { appManifests } from '../../../src/regions/kubernetes/manifests/app.ts'
import { cluster, kubectl, newNamespace } from '../../../testkit/kubernetes/cluster.ts'

const chart = path.resolve(import.meta.dirname, '../../../deploy/chart')
const helm = process.env.HELM ?? 'helm'
const hasHelm = spawnSync(helm, ['version']).status === 0
if (!hasHelm) console.log('skipped: tests of the chart (no helm in PATH, and HELM names none)')

const region = { name: 'eu', engine: 'kubernetes', namespacePrefix: 'ls-', appDomain: 'app.example.com' }

interface Manifest {
  kind: string
  metadata: { name: string }
  data?: Record<string, string>
  // biome-ignore lint/suspicious/noExplicitAny: manifests of many kinds
  spec: any
}

/** What the chart makes of the values, as YAML; rejects with the errors of the schema. */
async function render(namespace: string, values: object): Promise<string> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-chart-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const file = path.join(dir, 'values.json')
  writeFileSync(file, JSON.stringify(values))
  const args = [
    'template',
    'longshore',
    chart,
    '--namespace',
    namespace,
    '--kube-version',
    '1.35.0',
    '-f',
    file,
  ]
  return (await promisify(execFile)(helm, args, { maxBuffer: 16 * 1024 * 1024 })).stdout
}

/** The manifests as the API server completes them, which also validates them. */
async function manifests(namespace: string, yaml: string): Promise<Map<string, Manifest>> {
  const printed = await kubectl(['-n', namespace, 'apply', '--dry-run=server', '-o', 'json', '-f', '-'], yaml)
  const { items } = JSON.parse(printed) as { items: Manifest[] }
  return new Map(items.map((item) => [`${item.kind}/${item.metadata.name}`, item]))
}

describe.skipIf(!hasHelm || !cluster.kubeconfig)('the chart', () => {
  it('makes two control planes, one of which stays, under the strictest pod security', async () => {
    const namespace = await newNamespace()
    await kubectl(['label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted'])
    const made = await manifests(namespace, await render(namespace, { regions: [region] }))
    const { spec } = made.get('StatefulSet/longshore')!
    expect(spec.replicas).toBe(2)
    expect(made.get('PodDisruptionBudget/longshore')!.spec.minAvailable).toBe(1)
    const pod = { metadata: { name: 'one' }, spec: spec.template.spec, apiVersion: 'v1', kind: 'Pod' }
    await kubectl(['-n', namespace, 'create', 'serviceaccount', 'longshore'])
    await kubectl(['-n', namespace, 'create', '--dry-run=server', '-f', '-'], pod)
  })

  it('writes a regions file that Longshore reads', async () => {
    const namespace = await newNamespace()
    const full = {
      ...{ ...region, functionDomain: 'fn.example.com', publicPort: 443, ingressClass: 'traefik' },
      registry: { push: 'r.example.com/apps', pull: 'r.example.com/apps' },
      ...{ buildkit: 'tcp://buildkitd.build:1234', prometheus: 'http://prometheus.monitoring:9090' },
    }
    const made = await manifests(namespace, await render(namespace, { regions: [full] }))
    const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-chart-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const file = path.join(dir, 'longshore.yaml')
    writeFileSync(file, made.get('ConfigMap/longshore')!.data!['longshore.yaml']!)
    const { value, problems } = readConfigFile(file)
    expect(problems).toEqual([])
    expect(value?.regions).toMatchObject([full])
  })

  it('takes every secret from the Secret of the operator', async () => {
    const namespace = await newNamespace()
    const made = await manifests(namespace, await render(namespace, { secretName: 'mine' }))
    const [container] = made.get('StatefulSet/longshore')!.spec.template.spec.containers
    const fromSecret = container.env.filter((one: { valueFrom?: { secretKeyRef?: { name: string } } }) => {
      return one.valueFrom?.secretKeyRef?.name === 'mine'
    })
    expect(fromSecret.map(({ name }: { name: string }) => name)).toEqual(
      expect.arrayContaining(['LONGSHORE_DATABASE_URL', 'LONGSHORE_MASTER_KEY', 'LONGSHORE_BOOTSTRAP_TOKEN']),
    )
    expect([...made.keys()].filter((key) => key.startsWith('Secret/'))).toEqual([])
  })

  it('opens the API only to the chosen namespaces, and no metadata service', async () => {
    const namespace = await newNamespace()
    const values = { networkPolicy: { fromNamespaces: [{ team: 'edge' }] } }
    const { spec } = (await manifests(namespace, await render(namespace, values))).get(
      'NetworkPolicy/longshore',
    )!
    expect(spec.ingress).toHaveLength(1)
    expect(spec.ingress[0].ports).toEqual([{ port: 'api', protocol: 'TCP' }])
    expect(spec.ingress[0].from).toHaveLength(2)
    expect(spec.ingress[0].from[1]).toEqual({ namespaceSelector: { matchLabels: { team: 'edge' } } })
    expect(spec.egress[0].to[0].ipBlock.except).toEqual([...metadataRanges])
  })

  it('makes an Ingress and a ServiceMonitor where they are wanted', async () => {
    const yaml = await render('any', {
      ingress: { enabled: true, host: 'longshore.test', tlsSecretName: 'tls' },
      serviceMonitor: { enabled: true },
    })
    expect(yaml).toMatch(/kind: Ingress\n[\s\S]*host: "longshore\.test"/)
    expect(yaml).toMatch(/kind: ServiceMonitor\n[\s\S]*path: \/metrics/)
    expect(await render('any', {})).not.toMatch(/kind: (?:Ingress|ServiceMonitor)\n/)
  })

  it.each([
    [{ replica: 3 }, /replica/],
    [{ regions: [{ ...region, engine: 'docker' }] }, /engine/],
    [{ regions: [{ name: 'eu', engine: 'kubernetes' }] }, /namespacePrefix/],
    [{ settings: { DATABASE_URL: 'x' } }, /DATABASE_URL|propert/],
    [{ ingress: { enabled: true } }, /host/],
  ])('refuses %j', async (values, problem) => {
    await expect(render('any', values)).rejects.toThrow(problem)
  })
})

/** What Longshore applies for an account, an app with everything, a function and a job. */
function everyManifest(namespacePrefix: string): object[] {
  const options = { namespacePrefix, appDomain: 'app.example.com' }
  const healthCheck = {
    path: null,
    expectedStatus: 200,
    intervalSeconds: 5,
    timeoutSeconds: 2,
    stabilitySeconds: 0,
  }
  const workload = {
    ...{
      installationId: 'test',
      accountId: 'acc_account',
      appEnvId: 'env_a',
      envName: 'web',
      rolloutId: 'rol_a',
    },
    ...{ contentId: 'dep_a', image: 'app.test/app:1', port: 8080, env: { TOKEN: 'x' }, containers: 2 },
    ...{
      cpuMillicores: 500,
      memoryMb: 512,
      healthCheck,
      autoscaling: { ...autoscalingDefaults, minContainers: 2 },
    },
    ...{ functionConfig: null, warm: 0, volume: { mountPath: '/data', diskMb: 100 } },
  }
  const job = {
    ...{ name: 'job-1', podId: 'pod_a', appEnvId: 'env_a', accountId: 'acc_account', contentId: 'dep_a' },
    ...{
      image: 'app.test/app:1',
      port: null,
      env: {},
      cpuMillicores: 500,
      memoryMb: 512,
      internalHost: 'job-1',
    },
  }
  return [
    ...accountManifests('acc_account', 'test', { ...options, zCloudLimit: 64 }),
    ...appManifests(workload, options),
    ...jobManifests(job, { installationId: 'test', namespace: `${namespacePrefix}account`, claimOf: String }),
  ]
}

describe.skipIf(!hasHelm || !cluster.kubeconfig)('the permissions of the chart', () => {
  it('let Longshore run environments in the namespaces of its regions, and nothing else', async () => {
    const namespace = await newNamespace()
    const prefix = `lst-${randomText(8).replaceAll(/[^a-z]/g, 'x')}-`
    const yaml = await render(namespace, { regions: [{ ...region, namespacePrefix: prefix }] })
    const access = yaml
      .split(/^---$/m)
      .filter((text) => /kind: (?:ServiceAccount|ClusterRole|ClusterRoleBinding|Validating\w+)\n/.test(text))
      .join('---\n')
    await kubectl(['-n', namespace, 'apply', '-f', '-'], access)
    onTestFinished(
      async () => void (await kubectl(['-n', namespace, 'delete', '--wait=false', '-f', '-'], access)),
    )
    const user = `system:serviceaccount:${namespace}:longshore`
    const mayDo = async (question: string) => {
      const [verb = '', what = ''] = question.split(' ')
      const [resource = '', subresource] = what.split('/')
      // To kubectl, what stands after a slash is a name.
      const part = subresource === undefined ? [] : [`--subresource=${subresource}`]
      const asked = kubectl(['auth', 'can-i', '--as', user, '--all-namespaces', verb, resource, ...part])
      return asked.then(
        () => true,
        () => false,
      )
    }
    const allowed = [
      'create namespaces',
      'patch deployments.apps',
      'create jobs.batch',
      'patch secrets',
      'patch pods',
      'get pods/log',
      'create pods/exec',
    ]
    for (const question of allowed) expect(await mayDo(question), question).toBe(true)
    const denied = ['get secrets', 'list secrets', 'watch secrets', 'create pods', 'get nodes']
    denied.push(
      'create clusterroles',
      'create rolebindings',
      'impersonate users',
      'create serviceaccounts/token',
    )
    denied.push('create daemonsets.apps', 'update nodes', 'create validatingwebhookconfigurations', '* *')
    for (const question of denied) expect(await mayDo(question), question).toBe(false)

    const own = `${prefix}account`
    const create = (...args: string[]) => kubectl(['--as', user, 'create', ...args])
    // The API server takes a moment until a new policy applies.
    await expect
      .poll(() => create('namespace', `lst-other-${randomText(8)}`, '--dry-run=server').catch(String))
      .toMatch(/only to the namespaces of its regions/)
    onTestFinished(
      async () => void (await kubectl(['delete', 'namespace', own, '--ignore-not-found', '--wait=false'])),
    )
    for (const manifest of everyManifest(prefix))
      await kubectl(
        ['--as', user, 'apply', '--server-side', '--field-manager=longshore', '-f', '-'],
        manifest,
      )
    const outside = create('-n', namespace, 'secret', 'generic', 'variables')
    await expect(outside).rejects.toThrow(/only to the namespaces of its regions/)
    const removal = kubectl(['--as', user, 'delete', 'namespace', namespace, '--dry-run=server'])
    await expect(removal).rejects.toThrow(/only to the namespaces of its regions/)
  })
})
