import { describe, expect, it } from 'vitest'
import { addressModeFor } from '../../../../src/engines/docker/address-mode.ts'
import { createOptions, type SpecFacts } from '../../../../src/engines/docker/container-spec.ts'
import { imageTag } from '../../../../src/engines/docker/image-names.ts'
import { toEngineContainer } from '../../../../src/engines/docker/inspected-container.ts'
import { networkName } from '../../../../src/engines/docker/names.ts'
import { subnetCandidates } from '../../../../src/engines/docker/subnets.ts'
import type { ContainerSpec } from '../../../../src/engines/engine.ts'

const spec: ContainerSpec = {
  name: 'web-1',
  podId: 'pod_1',
  appEnvId: 'env_1',
  accountId: 'acc_1',
  contentId: 'dep_1',
  image: 'longshore/env_1:dep_1',
  port: 3000,
  env: { A: 'x=y\nz' },
  cpuMillicores: 1500,
  memoryMb: 1536,
  internalHost: 'web',
}
const facts: SpecFacts = {
  installationId: 'ins_1',
  network: 'net_1',
  addressMode: 'container ip',
  hostCpus: 8,
  init: true,
}

describe('createOptions', () => {
  it('bounds memory without swap, CPU and processes, and drops every privilege that is not needed', () => {
    const { HostConfig } = createOptions(spec, facts)
    expect(HostConfig).toMatchObject({
      Memory: 1536 * 1024 * 1024,
      MemorySwap: 1536 * 1024 * 1024,
      NanoCpus: 1_500_000_000,
      PidsLimit: 1024,
      CapDrop: ['ALL'],
      SecurityOpt: ['no-new-privileges'],
      Privileged: false,
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } },
      Init: true,
      NetworkMode: 'net_1',
    })
    expect(HostConfig?.CapAdd).not.toContain('NET_RAW')
    expect(HostConfig?.CapAdd).not.toContain('SYS_ADMIN')
    expect(HostConfig).not.toHaveProperty('Binds')
    expect(HostConfig).not.toHaveProperty('Mounts')
  })

  const rows: [
    string,
    Partial<ContainerSpec>,
    Partial<SpecFacts>,
    (body: ReturnType<typeof createOptions>) => unknown,
    unknown,
  ][] = [
    ['sets PORT', {}, {}, (body) => body.Env, ['A=x=y\nz', 'PORT=3000']],
    ['lets nobody else set PORT', { env: { PORT: '1' } }, {}, (body) => body.Env, ['PORT=3000']],
    ['sets no PORT for what serves none', { port: null }, {}, (body) => body.Env, ['A=x=y\nz']],
    [
      'publishes nothing where the container is reached directly',
      {},
      {},
      (body) => body.HostConfig?.PortBindings,
      undefined,
    ],
    [
      'publishes on loopback where it is not',
      {},
      { addressMode: 'published port' },
      (body) => body.HostConfig?.PortBindings,
      { '3000/tcp': [{ HostIp: '127.0.0.1', HostPort: '' }] },
    ],
    [
      'publishes nothing for what serves no port',
      { port: null },
      { addressMode: 'published port' },
      (body) => body.HostConfig?.PortBindings,
      undefined,
    ],
    [
      'asks for no more CPUs than there are',
      { cpuMillicores: 4000 },
      { hostCpus: 2 },
      (body) => body.HostConfig?.NanoCpus,
      2_000_000_000,
    ],
    ['asks for no init where there is none', {}, { init: false }, (body) => body.HostConfig?.Init, undefined],
    [
      'is found by its internal name',
      {},
      {},
      (body) => body.NetworkingConfig?.EndpointsConfig,
      { net_1: { Aliases: ['web'] } },
    ],
    [
      'carries what the platform must know after a restart',
      {},
      {},
      (body) => body.Labels,
      {
        'longshore.installation': 'ins_1',
        'longshore.pod': 'pod_1',
        'longshore.env': 'env_1',
        'longshore.account': 'acc_1',
        'longshore.content': 'dep_1',
        'longshore.port': '3000',
      },
    ],
  ]
  it.each(rows)('%s', (_, change, factChange, part, expected) => {
    expect(part(createOptions({ ...spec, ...change }, { ...facts, ...factChange }))).toEqual(expected)
  })
})

describe('toEngineContainer', () => {
  const never = '0001-01-01T00:00:00Z'
  const info = (state: object, network: object = {}) =>
    ({
      Name: '/longshore-web-1',
      Config: { Labels: createOptions(spec, facts).Labels },
      State: {
        Status: 'running',
        StartedAt: never,
        FinishedAt: never,
        ExitCode: 0,
        OOMKilled: false,
        ...state,
      },
      NetworkSettings: { Networks: { net_1: { IPAddress: '10.213.7.2' } }, ...network },
    }) as never
  const read = (state: object, addressMode: SpecFacts['addressMode'] = 'container ip', network?: object) =>
    toEngineContainer(info(state, network), { nodeName: 'node', addressMode })

  it('reads a running container with its address', () => {
    expect(read({ StartedAt: '2026-01-02T03:04:05.123456789Z' })).toEqual({
      name: 'web-1',
      podId: 'pod_1',
      appEnvId: 'env_1',
      state: 'running',
      startedAt: '2026-01-02T03:04:05.123Z',
      finishedAt: null,
      exitCode: null,
      outOfMemory: false,
      address: { host: '10.213.7.2', port: 3000 },
      nodeName: 'node',
    })
  })

  it.each([
    ['created', 'created'],
    ['running', 'running'],
    ['paused', 'running'],
    ['restarting', 'running'],
    ['removing', 'exited'],
    ['exited', 'exited'],
    ['dead', 'exited'],
  ])('reads the state %s as %s', (status, state) => {
    expect(read({ Status: status }).state).toBe(state)
  })

  it('reads how it ended', () => {
    const ended = read({
      Status: 'exited',
      ExitCode: 137,
      OOMKilled: true,
      FinishedAt: '2026-01-02T03:04:06Z',
    })
    expect(ended).toMatchObject({
      exitCode: 137,
      outOfMemory: true,
      finishedAt: '2026-01-02T03:04:06.000Z',
      address: null,
    })
  })

  it('reads a published port', () => {
    const network = { Ports: { '3000/tcp': [{ HostIp: '127.0.0.1', HostPort: '49153' }] } }
    expect(read({}, 'published port', network).address).toEqual({
      host: '127.0.0.1',
      port: 49153,
      proxied: true,
    })
    expect(read({}, 'published port', { Ports: {} }).address).toBeNull()
  })
})

describe('addressModeFor', () => {
  const local = {
    platform: 'linux',
    kernel: '6.1.0',
    socket: 'unix' as const,
    engineKernel: '6.1.0',
    engineSystem: 'Debian GNU/Linux 12',
    securityOptions: ['name=seccomp,profile=default'],
  }
  it.each([
    ['an engine of this Linux machine', {}, 'container ip'],
    ['a Mac', { platform: 'darwin' }, 'published port'],
    ['tcp', { socket: 'tcp' as const }, 'published port'],
    ['another kernel (a virtual machine)', { engineKernel: '5.15.0-linuxkit' }, 'published port'],
    ['Docker Desktop', { engineSystem: 'Docker Desktop' }, 'published port'],
    ['a rootless engine', { securityOptions: ['name=rootless'] }, 'published port'],
  ])('for %s', (_, change, mode) => {
    expect(addressModeFor({ ...local, ...change })).toBe(mode)
  })
})

describe('names', () => {
  it('gives each account of each installation a network of its own', () => {
    const names = [networkName('a', '1'), networkName('a', '2'), networkName('b', '1')]
    expect(new Set(names).size).toBe(3)
    expect(networkName('a', '1')).toBe(names[0])
    for (const name of names) expect(name).toMatch(/^longshore-[0-9a-f]{8}-[0-9a-f]{12}$/)
  })

  it('offers every free /24 of the range once, none that is taken', () => {
    const free = subnetCandidates('acc_1', [
      '10.213.7.0/24',
      '10.213.16.0/20',
      '172.17.0.0/16',
      'fd00::/8',
      '',
    ])
    expect(free).toHaveLength(256 - 1 - 16)
    expect(new Set(free).size).toBe(free.length)
    expect(free).not.toContain('10.213.7.0/24')
    expect(free).not.toContain('10.213.31.0/24')
    expect(free).toContain('10.213.32.0/24')
    expect(subnetCandidates('acc_1', ['10.0.0.0/8'])).toEqual([])
  })

  it('makes image names Docker takes, and never the same for two ids', () => {
    expect(imageTag('env_1a', 'dep-2')).toBe('longshore/env_1a:dep-2')
    const ids = ['env_aB', 'env_ab', 'env_AB', 'Env/ab', '_env', 'é', '-', 'a..b', 'x'.repeat(200)]
    const tags = ids.map((id) => imageTag(id, id))
    expect(new Set(tags).size).toBe(ids.length)
    for (const tag of tags) {
      expect(tag).toMatch(/^longshore\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*:[a-z0-9][a-z0-9_.-]{0,127}$/)
    }
  })
})
