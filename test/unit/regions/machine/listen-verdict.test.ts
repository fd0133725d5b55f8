import { describe, expect, it } from 'vitest'
import type { ListeningSocket } from '../../../../src/engines/listening-sockets.ts'
import { ListenWatch, timeoutVerdict } from '../../../../src/regions/machine/listen-verdict.ts'

const expected = { port: 3000, given: 3000 }
const at = (address: string, port: number): ListeningSocket => ({ address, port })

/** One reading a second; answers the second of the first verdict and its reason. */
function judge(
  seconds: number,
  read: (second: number) => { sockets: ListeningSocket[]; unreadable?: string; cpuMs?: number },
): [number, string] | null {
  const watch = new ListenWatch(expected)
  for (let second = 1; second <= seconds; second++) {
    const { cpuMs = 0, ...reading } = read(second)
    const verdict = watch.judge(reading, cpuMs, second * 1_000)
    if (verdict) return [second, verdict.reason]
  }
  return null
}

describe('an app that listens, but not where it is expected', () => {
  it('on loopback is judged after 5 seconds, busy or not', () => {
    expect(judge(60, (second) => ({ sockets: [at('127.0.0.1', 3000)], cpuMs: second * 900 }))).toEqual([
      6,
      'loopback-bind',
    ])
  })

  it('on another port is judged after 30 idle seconds', () => {
    expect(judge(60, () => ({ sockets: [at('0.0.0.0', 8080)] }))).toEqual([31, 'wrong-port'])
  })

  it('on another port is reported once after 5 seconds, however busy it is', () => {
    const watch = new ListenWatch(expected)
    const elsewhere = { sockets: [at('0.0.0.0', 4000)] }
    const reports = Array.from({ length: 20 }, (_, second) => watch.report(elsewhere, second * 1_000))
    const text = 'The app listens on 0.0.0.0:4000, and not on port 3000 yet; still waiting.'
    expect(reports).toEqual(reports.map((_, second) => (second === 5 ? text : null)))
    const other = new ListenWatch(expected)
    for (const sockets of [[], [at('127.0.0.1', 9229)], [at('::', 3000), at('::', 9090)]])
      for (const second of [0, 10]) expect(other.report({ sockets }, second * 1_000)).toBeNull()
  })

  it('is not judged while it works, as a slow start does behind its metrics port', () => {
    const busy = (second: number) => ({ sockets: [at('::', 9090)], cpuMs: Math.min(second, 50) * 400 })
    expect(judge(60, busy)).toBeNull()
  })

  it('is judged again when it opens another port', () => {
    const sockets = (second: number) => [at('0.0.0.0', 9090), ...(second > 25 ? [at('0.0.0.0', 9091)] : [])]
    expect(judge(50, (second) => ({ sockets: sockets(second) }))).toBeNull()
  })

  it('is not judged by helpers on loopback alone, nor by what cannot be read', () => {
    expect(judge(60, () => ({ sockets: [at('127.0.0.1', 9229)] }))).toBeNull()
    expect(judge(60, () => ({ sockets: [] }))).toBeNull()
    expect(judge(60, () => ({ sockets: [at('0.0.0.0', 8080)], unreadable: 'No.' }))).toBeNull()
  })

  it('is not judged when it is there, but does not answer yet', () => {
    expect(judge(60, () => ({ sockets: [at('127.0.0.1', 3000), at('10.0.0.2', 3000)] }))).toBeNull()
    expect(judge(60, () => ({ sockets: [at('::', 3000), at('0.0.0.0', 9090)] }))).toBeNull()
    expect(timeoutVerdict({ sockets: [at('::', 3000)] }, expected, 60_000)).toMatchObject({
      reason: 'start-timeout',
      message: expect.stringContaining('It listens on [::]:3000, but does not answer over IPv4.'),
    })
  })
})

describe('the verdict at the end of the time to start', () => {
  it('names the expected port, and where the app listens instead', () => {
    const { reason, message } = timeoutVerdict({ sockets: [at('127.0.0.1', 5173)] }, expected, 60_000)
    expect(reason).toBe('wrong-port')
    expect(message).toContain('listens on 127.0.0.1:5173. Expected: port 3000 on all interfaces')
  })

  it('names PORT where the engine gives another port, and counts loopback on it', () => {
    const given = { port: 3000, given: 20_001 }
    const verdict = timeoutVerdict({ sockets: [at('::1', 20_001)] }, given, 60_000)
    expect(verdict.reason).toBe('loopback-bind')
    expect(verdict.message).toContain('[::1]:20001')
    expect(verdict.message).toContain('port 3000 (here PORT=20001)')
  })

  it('says that it listens nowhere, or why that cannot be seen', () => {
    expect(timeoutVerdict({ sockets: [] }, expected, 60_000)).toMatchObject({
      reason: 'start-timeout',
      message: expect.stringContaining('port 3000 within 60 seconds. It listens on no port.'),
    })
    const hidden = { sockets: [], unreadable: 'The container’s /proc cannot be read.' }
    expect(timeoutVerdict(hidden, expected, 60_000).message).toContain(
      'could not be seen. The container’s /proc',
    )
  })
})
