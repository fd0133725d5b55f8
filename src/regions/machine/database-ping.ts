import net from 'node:net'
import type { Address, DatabaseSpec } from '../../engines/engine.ts'

const pingTimeoutMs = 2_000

/** The request to send to a database, and the first bytes of a reply that shows that it is ready. */
interface Ping {
  /** Null if the server sends first. */
  hello: Buffer | null
  isReady(answer: Buffer): boolean
}

/**
 * Whether a database that accepts connections also answers: PostgreSQL and Redis already listen while they load their
 * data. Presets without a short handshake count as ready when they accept.
 */
export function databaseAnswers(address: Address, database: DatabaseSpec): Promise<boolean> {
  const ping = pingOf(database)
  if (!ping) return Promise.resolve(true)
  return new Promise((resolve) => {
    const socket = net.connect({ host: address.host, port: address.port })
    let answer = Buffer.alloc(0)
    const finish = (ready: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(ready)
    }
    const timer = setTimeout(() => finish(false), pingTimeoutMs)
    socket.once('connect', () => ping.hello && socket.write(ping.hello))
    socket.on('data', (chunk) => {
      answer = Buffer.concat([answer, chunk])
      if (ping.isReady(answer)) finish(true)
    })
    socket.once('close', () => finish(false))
    socket.once('error', () => finish(false))
  })
}

function pingOf(database: DatabaseSpec): Ping | null {
  switch (database.dockerPreset) {
    case 'POSTGRESQL':
      // The server requests a password once it is ready, and sends an error while it starts.
      return { hello: postgresStartup(database), isReady: (answer) => answer[0] === 0x52 }
    case 'MYSQL':
      // A handshake packet: its protocol version is 10; an error would be 255.
      return { hello: null, isReady: (answer) => answer.length > 4 && answer[4] === 10 }
    case 'REDIS':
      // A replica without a copy yet would answer with an empty data set.
      if (database.primary) {
        return {
          hello: Buffer.from(`AUTH ${database.password}\r\nINFO replication\r\n`),
          isReady: (answer) => answer.includes('master_link_status:up'),
        }
      }
      return {
        hello: Buffer.from(`AUTH ${database.password}\r\nPING\r\n`),
        isReady: (answer) => answer.includes('+PONG'),
      }
    case 'RABBITMQ':
      return { hello: Buffer.from('AMQP\0\0\x09\x01', 'latin1'), isReady: (answer) => answer[0] === 1 }
    case 'COUCHDB':
      return httpPing('/_up')
    case 'CLICKHOUSE':
      return httpPing('/ping')
    case 'MONGODB':
      return null
  }
}

function httpPing(path: string): Ping {
  return {
    hello: Buffer.from(`GET ${path} HTTP/1.0\r\nHost: localhost\r\n\r\n`),
    isReady: (answer) => /^HTTP\/1\.[01] 200 /.test(answer.toString('latin1')),
  }
}

/** Startup message of protocol 3.0 (PostgreSQL documentation, Message Formats). */
function postgresStartup({ user, database }: DatabaseSpec): Buffer {
  const body = Buffer.from(`\0\x03\0\0user\0${user}\0database\0${database}\0\0`, 'latin1')
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}
