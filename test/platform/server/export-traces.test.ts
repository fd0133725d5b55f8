import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { afterAll, expect, it } from 'vitest'
import { createLog } from '../../../src/log.ts'
import { exportTraces } from '../../../src/server/telemetry/export-traces.ts'
import { newTraceparent, spanIdOf, traceIdOf } from '../../../src/trace.ts'
import { until } from '../../../testkit/until.ts'

const answers = ['HTTP/1.1 400 Bad\r\n\r\n', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n']
const sent: number[] = []
/** First an answer without an end, then one that never comes. */
const receiver = createServer((socket) => {
  const number = sent.push(0) - 1
  socket.on('error', () => {})
  socket.once('data', () => {
    socket.write(answers[number] ?? '')
    if (number > 0) return
    const piece = Buffer.alloc(64 * 1024, 'a')
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('drain', more)
    socket.once('close', () => {
      sent[number] = socket.bytesWritten
    })
    more()
  })
})
afterAll(() => receiver.close())

it('a receiver of traces that answers without end costs no memory, and a silent one holds up no stop', async () => {
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  process.env.OTEL_BSP_SCHEDULE_DELAY = '10'
  process.env.OTEL_BSP_EXPORT_TIMEOUT = '2000'
  const spans = exportTraces('node', createLog('test', 'silent'))
  const add = () => {
    const trace = newTraceparent()
    const ids = { traceId: traceIdOf(trace), spanId: spanIdOf(trace), parentSpanId: null }
    const times = { startMs: Date.now(), endMs: Date.now() }
    spans.add({ ...ids, ...times, name: 'test', kind: 'server', failed: false, attributes: {} })
  }
  add()
  await until(() => sent[0])
  // What the system holds for a reader that is gone is part of it.
  expect(sent[0]).toBeLessThan(32 * 1024 ** 2)
  const next = once(receiver, 'connection')
  add()
  await next
  const startMs = performance.now()
  await spans.close()
  expect(performance.now() - startMs).toBeLessThan(20_000)
})
