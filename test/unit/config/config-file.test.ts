import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readConfig } from '../../../src/config/config.ts'
import { AppError } from '../../../src/errors.ts'

const folder = mkdtempSync(path.join(os.tmpdir(), 'longshore-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function configOf(text: string, env: Record<string, string> = {}) {
  const file = path.join(folder, 'longshore.yaml')
  writeFileSync(file, text)
  return readConfig({ LONGSHORE_CONFIG: 'longshore.yaml', ...env }, folder)
}

function problemsOf(text: string): string[] {
  try {
    configOf(text)
    return []
  } catch (error) {
    const details = error instanceof AppError ? (error.details ?? '') : String(error)
    return details.split('; ').map((problem) => problem.replace(`${folder}/`, ''))
  }
}

describe('the configuration file', () => {
  it('names the regions, with what a cluster region needs', () => {
    const { regions } = configOf(`
regions:
  - name: local
    engine: process
  - name: eu
    engine: kubernetes
    kubeconfig: /etc/longshore/kubeconfig
    appDomain: app.example.com
    registry: { push: 10.0.0.1:5000/ls, pull: registry.internal/ls, insecure: true }
    buildkit: tcp://10.0.0.1:1234
    prometheus: http://10.0.0.1:9090
`)
    expect(regions[0]).toEqual({ region: 'local', engine: 'process' })
    expect(regions[1]).toMatchObject({
      region: 'eu',
      engine: 'kubernetes',
      cluster: { namespacePrefix: 'ls-', publicPort: 443, registry: { insecure: true } },
    })
    expect(regions[1]?.cluster?.functionDomain).toBeUndefined()
  })

  it('domains of machine regions come from the file, or from the variables', () => {
    const file = 'regions: [{name: local, engine: process, appDomain: a.test, publicPort: 443}]'
    const variables = { LONGSHORE_APP_DOMAIN: 'apps.example.com', LONGSHORE_PUBLIC_PORT: '80' }
    const { regions, domains } = configOf(file, variables)
    expect(regions[0]?.domains).toEqual({ appDomain: 'a.test', publicPort: 443 })
    expect(domains).toEqual({
      appDomain: 'apps.example.com',
      functionDomain: 'fn.localhost',
      publicPort: 80,
    })
    expect(() => readConfig({ LONGSHORE_APP_DOMAIN: 'Not a domain' }, folder)).toThrow()
    const same = { LONGSHORE_APP_DOMAIN: 'a.test', LONGSHORE_FUNCTION_DOMAIN: 'a.test' }
    expect(() => readConfig(same, folder)).toThrow()
  })

  it('LONGSHORE_ENGINE=kubernetes takes the clusters of the file, or the cluster that kubectl would use', () => {
    const file =
      'regions: [{name: eu, engine: kubernetes, appDomain: a.test}, {name: local, engine: process}]'
    const { regions } = configOf(file, { LONGSHORE_ENGINE: 'kubernetes' })
    expect(regions).toMatchObject([{ region: 'eu', cluster: { appDomain: 'a.test' } }])
    const plain = (env: Record<string, string>) =>
      readConfig({ LONGSHORE_ENGINE: 'kubernetes', ...env }, folder).regions[0]
    expect(plain({ KUBECONFIG: '/etc/first:/etc/second' })).toMatchObject({
      region: 'local',
      cluster: {
        kubeconfig: '/etc/first',
        appDomain: 'app.localhost',
        namespacePrefix: 'ls-',
        publicPort: 80,
      },
    })
    expect(plain({})?.cluster?.kubeconfig).toBe(path.join(os.homedir(), '.kube', 'config'))
    const inPod = plain({ KUBERNETES_SERVICE_HOST: '10.0.0.1' })?.cluster
    expect(inPod?.kubeconfig).toBeUndefined()
    expect(inPod?.functionDomain).toBeUndefined()
  })

  it('reports every problem with its line and column', () => {
    const problems = problemsOf(`regions:
  - name: Local
    engine: process
  - name: eu
    engine: kubernetes
    colour: red
    publicPort: 70000
    buildkit: here
`)
    expect(problems).toEqual([
      expect.stringMatching(/^longshore\.yaml line 2, column 5: regions\.0\.name: must be /),
      expect.stringMatching(/^longshore\.yaml line 4, column 5: regions\.1\.appDomain: /),
      expect.stringMatching(/^longshore\.yaml line 7, column 5: regions\.1\.publicPort: /),
      expect.stringMatching(/^longshore\.yaml line 8, column 5: regions\.1\.buildkit: must be tcp/),
      expect.stringMatching(/^longshore\.yaml line 6, column 5: regions\.1\.colour: is not a setting/),
    ])
    expect(problemsOf('regions:\n  - name: a\n    engine: nomad\n')).toEqual([
      'longshore.yaml line 3, column 5: regions.0.engine: must be process, docker or kubernetes',
    ])
    expect(problemsOf('regions: [\n  {')[0]).toMatch(/^longshore\.yaml line \d, column \d+: /)
    expect(problemsOf('regions:\n- {name: a, engine: docker}\n- {name: a, engine: docker}\n')[0]).toMatch(
      /line 1, column 1: regions: must have a name of its own each/,
    )
  })

  it('refuses two regions with the same namespaces of one cluster', () => {
    const region = (name: string, rest = '') =>
      `- { name: ${name}, engine: kubernetes, appDomain: ${name}.test, kubeconfig: /etc/k${rest} }\n`
    expect(problemsOf(`regions:\n${region('a')}${region('b')}`)).toEqual([
      expect.stringMatching(
        /line 3, column 3: regions\.1\.namespacePrefix: must differ from that of the other/,
      ),
    ])
    for (const rest of [', namespacePrefix: b-', ', context: other'])
      expect(problemsOf(`regions:\n${region('a')}${region('b', rest)}`)).toEqual([])
  })

  it('takes a Gateway or an ingress, and a certificate for the ingress only', () => {
    const region = (rest: string) =>
      `regions:\n  - name: eu\n    engine: kubernetes\n    appDomain: a.test\n${rest}`
    const gateway = { name: 'shared', namespace: 'gateways', listener: 'https' }
    const made = configOf(region('    gateway: { name: shared, namespace: gateways, listener: https }\n'))
    expect(made.regions[0]?.cluster).toMatchObject({ gateway })
    for (const tls of ['default', { clusterIssuer: 'letsencrypt' }])
      expect(configOf(region(`    tls: ${JSON.stringify(tls)}\n`)).regions[0]?.cluster?.tls).toEqual(tls)
    expect(
      problemsOf(
        region(`    ingressClass: traefik
    gateway: { name: shared, namespace: gateways }
    tls: default
    publicPort: 80
`),
      ),
    ).toEqual([
      'longshore.yaml line 6, column 5: regions.0.gateway: takes the place of ingressClass: remove one of them',
      expect.stringMatching(/^longshore\.yaml line 7, column 5: regions\.0\.tls: is for an ingress/),
      expect.stringMatching(
        /^longshore\.yaml line 8, column 5: regions\.0\.publicPort: must be 443 with tls/,
      ),
    ])
    expect(problemsOf(region('    tls: { issuer: x }\n'))).toEqual([
      expect.stringMatching(/^longshore\.yaml line 5, column 5: regions\.0\.tls: must be default /),
    ])
    const annotated = configOf(region('    annotations: { route: { example.com/retry: "3" } }\n'))
    expect(annotated.regions[0]?.cluster?.annotations).toEqual({
      ...{ route: { 'example.com/retry': '3' }, service: {} },
    })
    for (const [wrong, problem] of [
      ['example.com/retry: 3', 'example.com/retry: must be text: put numbers and true or false in quotes'],
      ['a b: x', 'a b: must have the name of an annotation'],
    ])
      expect(problemsOf(region(`    annotations: { service: { ${wrong} } }\n`))).toEqual([
        `longshore.yaml line 5, column 31: regions.0.annotations.service.${problem}`,
      ])
    expect(problemsOf(region('    gateway: { name: shared }\n'))).toEqual([
      expect.stringMatching(/^longshore\.yaml line 5, column 5: regions\.0\.gateway\.namespace: is missing/),
    ])
  })

  it('gives way to variables, and is refused when it cannot be read', () => {
    const text = 'regions:\n  - { name: far, engine: docker }\n'
    expect(configOf(text).regions).toEqual([{ region: 'far', engine: 'docker' }])
    const byVariable = configOf(text, { LONGSHORE_REGIONS: 'near=process' })
    expect(byVariable.regions).toEqual([{ region: 'near', engine: 'process' }])
    expect(configOf(text, { LONGSHORE_ENGINE: 'process' }).regions[0]?.region).toBe('local')
    expect(() => readConfig({ LONGSHORE_CONFIG: path.join(folder, 'absent.yaml') })).toThrow(
      expect.objectContaining({ details: expect.stringContaining('cannot be read (ENOENT)') }),
    )
  })
})
