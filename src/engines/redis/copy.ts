import { randomUUID } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import { type CopySource, type DatabaseSpec, EngineFailure } from '../engine.ts'
import { RedisConnection } from './connection.ts'
import { crc64 } from './crc64.ts'
import { readRdb } from './rdb-reader.ts'

/** Maximum number of commands without a reply. */
const window = 500

/** Requests the data that a new replica would get: a snapshot of the whole data set, in Redis' own dump format. */
export async function dumpRedis(database: DatabaseSpec, sink: Writable, signal: AbortSignal): Promise<void> {
  const redis = await RedisConnection.open(database, signal)
  try {
    const size = await redis.ask('SYNC')
    const length = /^\$(\d+)$/.exec(size)?.[1]
    if (length === undefined)
      throw new EngineFailure('database', `Redis answered SYNC with ${size.slice(0, 60)}`)
    await redis.copy(Number(length), sink)
  } finally {
    redis.close()
  }
}

/** Gives the server the password of `database` in place of `previous`; harmless if it has it already. */
export async function changeRedisPassword(
  database: DatabaseSpec,
  previous: string,
  signal: AbortSignal,
): Promise<void> {
  const isNew = await RedisConnection.open(database, signal).catch(() => null)
  if (isNew) return isNew.close()
  const redis = await RedisConnection.open({ ...database, password: previous }, signal)
  try {
    await redis.ask('CONFIG', 'SET', 'masterauth', database.password, 'requirepass', database.password)
  } finally {
    redis.close()
  }
}

/**
 * Replaces all data by the contents of the dump, after the whole dump was read and the server has loaded samples of it. An
 * interruption leaves a part of the new data; a second run completes it.
 */
export async function loadRedis(
  database: DatabaseSpec,
  source: CopySource,
  signal: AbortSignal,
): Promise<void> {
  const redis = await RedisConnection.open(database, signal)
  try {
    const checked = await source()
    await checkLoadable(redis, checked).finally(() => checked.destroy())
    const copy = await source()
    await replaceAll(redis, copy).catch((error) => {
      if (!(error instanceof EngineFailure)) throw error
      throw new EngineFailure('database', `${error.message} The old data is gone. Restore a backup again.`, {
        cause: error,
      })
    })
  } finally {
    redis.close()
  }
}

/** Larger values are not sampled: the old data still takes its memory. */
const longestSample = 65_536
const sampleLifeMs = '60000'

/** Throws if the dump is damaged, or the server refuses its version or a type of its values. */
async function checkLoadable(redis: RedisConnection, source: Readable): Promise<void> {
  const name = `longshore:sample:${randomUUID()}`
  const sampled = new Set<number>()
  let isVersionTaken = false
  const sample = async (value: Buffer, version: number) => {
    try {
      await redis.ask('RESTORE', name, sampleLifeMs, payload(value, version), 'REPLACE')
      await redis.ask('DEL', name)
    } catch (error) {
      const { message } = error as Error
      // An out-of-memory error does not mean that the value is unreadable, and the flush makes room.
      if (message.startsWith('Redis answered: OOM')) return
      if (!message.startsWith('Redis answered: ')) throw error
      const why = 'This version of Redis cannot load the copy. The data is as it was.'
      throw new EngineFailure('database', `${why} ${message}`, { cause: error })
    }
  }
  for await (const item of readRdb(source)) {
    if (item.kind === 'function') continue
    const type = item.value[0]!
    if (!isVersionTaken) await sample(shortString, item.version)
    isVersionTaken = true
    if (sampled.has(type) || item.value.length > longestSample) continue
    sampled.add(type)
    await sample(item.value, item.version)
  }
}

/** A string of one letter, as in the file. */
const shortString = Buffer.from([0, 1, 120])

async function replaceAll(redis: RedisConnection, source: Readable): Promise<void> {
  let waiting = 0
  const awaitReplies = async (most: number) => {
    for (; waiting > most; waiting--) await redis.answer()
  }
  const tell = async (...words: (string | Buffer)[]) => {
    await redis.send(words)
    waiting++
    if (waiting >= window) await awaitReplies(window / 2)
  }
  await tell('FLUSHALL')
  let selected = 0
  for await (const item of readRdb(source)) {
    if (item.kind === 'function') {
      await tell('FUNCTION', 'LOAD', 'REPLACE', item.code)
      continue
    }
    if (item.db !== selected) await tell('SELECT', String(item.db))
    selected = item.db
    const expiry = String(item.expiresAtMs ?? 0)
    await tell('RESTORE', item.key, expiry, payload(item.value, item.version), 'REPLACE', 'ABSTTL')
  }
  await awaitReplies(0)
}

/** The payload of RESTORE: type and value as in the file, the format's version, and a checksum of both. */
function payload(value: Buffer, version: number): Buffer {
  const body = Buffer.concat([value, Buffer.from([version & 255, version >> 8])])
  return Buffer.concat([body, crc64(body)])
}
