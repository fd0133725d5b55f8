import http from 'node:http'
import type { DemoCluster } from './cluster.ts'

/** Response body of the sample function. */
interface HelloReply {
  message: string
  instance: string
  pid: number
  inFlight: number
  peak: number
  answered: number
}

export interface Reply {
  status: number
  body: HelloReply | null
  text: string
  ms: number
}

/** One function: the address of the gateway or of the cluster's ingress, and the function's host name. */
export interface FunctionAddress {
  /** On one machine `127.0.0.1`, because names below localhost are not resolved everywhere. */
  host: string
  port: number
  hostHeader: string
}

export function addressOf(url: string, cluster: Pick<DemoCluster, 'ingress'> | null = null): FunctionAddress {
  const parsed = new URL(url)
  if (cluster) {
    const { hostname, port } = cluster.ingress ?? parsed
    return { host: hostname, port: Number(port || 80), hostHeader: parsed.host }
  }
  return { host: '127.0.0.1', port: Number(parsed.port || 80), hostHeader: parsed.host }
}

/** One GET on a connection of its own. */
export function get(address: FunctionAddress, path: string, signal: AbortSignal): Promise<Reply> {
  const startedMs = performance.now()
  return new Promise((resolve, reject) => {
    const request = http.get(
      {
        host: address.host,
        port: address.port,
        path,
        headers: { host: address.hostHeader },
        agent: false,
        signal,
      },
      (response) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.on('error', reject)
        response.on('end', () => {
          const ms = performance.now() - startedMs
          resolve({ status: response.statusCode ?? 0, body: parsed(text), text, ms })
        })
      },
    )
    request.on('error', reject)
  })
}

function parsed(text: string): HelloReply | null {
  try {
    return JSON.parse(text) as HelloReply
  } catch {
    return null
  }
}

/** Sends all requests at the same time. */
export function burst(
  address: FunctionAddress,
  path: string,
  amount: number,
  signal: AbortSignal,
): Promise<Reply[]> {
  return Promise.all(Array.from({ length: amount }, () => get(address, path, signal)))
}

/** Peak concurrent requests of each container, as reported by the containers. */
export function peaksOf(replies: readonly Reply[]): Map<string, number> {
  const peaks = new Map<string, number>()
  for (const { body } of replies) {
    if (body) peaks.set(body.instance, Math.max(peaks.get(body.instance) ?? 0, body.peak))
  }
  return peaks
}
