import { describe, expect, it } from 'vitest'
import type { App } from '../../../src/contract/apps.ts'
import { clusterDatabaseHosts } from '../../../src/domain/databases/credentials.ts'
import type { Environment } from '../../../src/domain/environments/environment.ts'
import { checkContentMoves, checkMove, copiesVolume } from '../../../src/domain/environments/move.ts'

const regions = [
  {
    region: 'local',
    functionDomain: null,
    engine: 'process',
    available: true,
    capabilities: { builds: true },
  },
  {
    region: 'eu',
    functionDomain: null,
    engine: 'kubernetes',
    available: true,
    capabilities: { builds: false },
  },
  {
    region: 'us',
    functionDomain: null,
    engine: 'kubernetes',
    available: false,
    unavailableReason: 'It is away',
  },
]

describe('3.3 what cannot change its region is refused with the reason', () => {
  const move = (to: string, app: Partial<App> = {}) => {
    const environment = { region: 'local', applied: { useVolume: false } } as Environment
    checkMove({ isDatabase: false, dockerPreset: 'NODE_JS', ...app } as App, environment, to, regions)
  }

  it('a database: with the steps that copy the data, and when it is down', () => {
    expect(() => move('eu')).not.toThrow()
    expect(() => move('eu', { isDatabase: true, dockerPreset: 'REDIS' })).toThrow(
      expect.objectContaining({ details: expect.stringContaining('down from their stop to their start') }),
    )
  })

  it('a region that does not answer', () => {
    expect(() => move('us')).toThrow('The region is not available')
  })

  it('source without a builder, and an image without containers', () => {
    expect(() => checkContentMoves({ type: 'BUILD', images: {} }, 'eu', regions)).toThrow(/cannot be built/)
    expect(() => checkContentMoves({ type: 'BUILD', images: { eu: 'it' } }, 'eu', regions)).not.toThrow()
    expect(() => checkContentMoves({ type: 'IMAGE', images: {} }, 'eu', regions)).not.toThrow()
    expect(() => checkContentMoves({ type: 'IMAGE', images: {} }, 'local', regions)).toThrow(/cannot run/)
  })
})

describe('a volume is copied', () => {
  const facts = (region: string, engine: string, node = 'a') => ({
    region,
    engine,
    node,
    functionDomain: null,
  })
  const all = [
    facts('one', 'docker'),
    facts('two', 'docker'),
    facts('three', 'process'),
    facts('eu', 'kubernetes'),
  ]
  const copies = (to: string, more: Partial<Environment> = {}) =>
    copiesVolume({ region: 'one', applied: { useVolume: true }, ...more } as Environment, to, all)

  it('to another engine and to a cluster, not between regions of one engine, nor where it is already', () => {
    expect(['one', 'two', 'three', 'eu'].map((to) => copies(to))).toEqual([false, false, true, true])
    expect(copies('one', { region: 'eu', servedFrom: 'one' })).toBe(false)
    expect(copies('eu', { applied: { useVolume: false } as Environment['applied'] })).toBe(false)
  })
})

describe('the addresses of a database in a cluster', () => {
  const access = { user: 'u_1', database: 'shop', secrets: '', ports: {} }
  const urls = (preset: string, containers = 1, mqttHost: string | null = null) =>
    clusterDatabaseHosts({
      ...{ preset, access: { ...access, mqttHost }, secrets: null, containers },
      ...{ workload: 'shop-prod', namespace: 'ls-1' },
    }).map(({ url }) => url)

  it('are those of its Services, with masked passwords', () => {
    expect(urls('REDIS')).toEqual(['redis://default:***SECRET***@shop-prod.ls-1.svc:6379'])
    expect(urls('POSTGRESQL', 3)).toEqual([
      'postgresql://u_1:***SECRET***@shop-prod-rw.ls-1.svc:5432/shop',
      'postgresql://u_1:***SECRET***@shop-prod-ro.ls-1.svc:5432/shop',
    ])
  })

  it('D1 of RabbitMQ: MQTT has a host name of its own', () => {
    expect(urls('RABBITMQ', 1, 'mqtt-a1.localhost')).toEqual([
      'amqp://u_1:***SECRET***@shop-prod.ls-1.svc:5672',
      'mqtt://u_1:***SECRET***@mqtt-a1.ls-1.svc:1883',
      'http://shop-prod.ls-1.svc:15672',
    ])
  })

  it('D2 of ClickHouse: HTTP and native', () => {
    expect(urls('CLICKHOUSE').map((url) => url.split(':')[0])).toEqual(['http', 'clickhouse'])
  })
})
