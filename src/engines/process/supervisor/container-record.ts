import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Address, EngineContainer } from '../../engine.ts'
import type { ContainerRecord, StartRequest } from './protocol.ts'

export function newRecord(request: StartRequest): ContainerRecord {
  return {
    name: request.name,
    podId: request.podId,
    appEnvId: request.appEnvId,
    declaredPort: request.declaredPort,
    memoryMb: request.memoryMb,
    state: 'created',
    pid: null,
    pidIdentity: null,
    port: null,
    seenAt: null,
    startedAt: null,
    finishedAt: null,
    exitCode: null,
    signal: null,
    outOfMemory: false,
  }
}

/**
 * Replaces the whole state file. Not synced: it must survive the supervisor, but not the machine, whose end also ends
 * the container. A sync would take longer than the start itself.
 */
export function saveRecord(dir: string, record: ContainerRecord): void {
  const file = path.join(dir, 'record.json')
  writeFileSync(`${file}.new`, JSON.stringify(record), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Every readable state file; folders without one are left over from an interrupted start or removal. */
export function loadRecords(containersDir: string): { records: ContainerRecord[]; broken: string[] } {
  const records: ContainerRecord[] = []
  const broken: string[] = []
  for (const name of readdirSync(containersDir)) {
    try {
      records.push(JSON.parse(readFileSync(path.join(containersDir, name, 'record.json'), 'utf8')))
    } catch {
      broken.push(name)
    }
  }
  return { records, broken }
}

export function toContainer(record: ContainerRecord): EngineContainer {
  return {
    name: record.name,
    podId: record.podId,
    appEnvId: record.appEnvId,
    state: record.state,
    startedAt: record.startedAt,
    finishedAt: record.finishedAt,
    exitCode: record.exitCode,
    outOfMemory: record.outOfMemory,
    address: addressOf(record),
    nodeName: 'local',
  }
}

function addressOf(record: ContainerRecord): Address | null {
  if (record.state !== 'running' || record.port === null) return null
  // Records of older supervisors have no host.
  return record.seenAt ?? { host: record.host ?? '127.0.0.1', port: record.port }
}
