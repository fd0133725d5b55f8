import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'
import {
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { setGlobalErrorHandler } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type IdGenerator } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../../log.ts'
import { serverVersion } from '../../mcp/transport/server-info.ts'
import { newTraceparent, type Span, type SpanSink, spanIdOf, traceIdOf } from '../../trace.ts'

const mostAnswerBytes = 64 * 1024
/** Longest time that a stop of the server waits for the last spans. */
const closeMs = 2_000

/** The ids that the platform has given already, for the span that starts next. */
class GivenIds implements IdGenerator {
  traceId: string | null = null
  spanId: string | null = null

  generateTraceId(): string {
    return this.traceId ?? traceIdOf(newTraceparent())
  }

  generateSpanId(): string {
    return this.spanId ?? spanIdOf(newTraceparent())
  }
}

/**
 * Exports spans over OTLP (HTTP, JSON). The library reads its standard settings itself: `OTEL_EXPORTER_OTLP_ENDPOINT`,
 * `OTEL_EXPORTER_OTLP_HEADERS` and so on. Spans wait in memory, 2,048 at most; more are dropped.
 */
export function exportTraces(nodeName: string, log: Log): SpanSink & { close(): Promise<void> } {
  setGlobalErrorHandler((error) => {
    // The text of an error may quote the headers or the answer of the receiver.
    const code = (error as { code?: unknown }).code
    log.warn({ code }, 'traces could not be exported; dropping them')
  })
  subscribe('http.client.response.finish', boundAnswer)
  const ids = new GivenIds()
  const provider = new BasicTracerProvider({
    idGenerator: ids,
    resource: resourceFromAttributes({
      'service.name': process.env.OTEL_SERVICE_NAME || 'longshore',
      'service.version': serverVersion,
      'host.name': nodeName,
    }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const tracer = provider.getTracer('longshore')
  return {
    add(span) {
      ids.traceId = span.traceId
      ids.spanId = span.spanId
      finish(
        tracer.startSpan(
          span.name,
          {
            kind: span.kind === 'server' ? SpanKind.SERVER : SpanKind.INTERNAL,
            startTime: span.startMs,
            attributes: span.attributes,
          },
          parentOf(span),
        ),
        span,
      )
    },
    async close() {
      const late = new Promise((resolve) => setTimeout(resolve, closeMs).unref())
      await Promise.race([provider.shutdown().catch(() => {}), late])
    },
  }
}

/** The library keeps a whole answer in memory, and the receiver may be broken. */
function boundAnswer(message: unknown): void {
  const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
  if (!String(request.getHeader('user-agent')).includes('OTel-OTLP-Exporter')) return
  let bytes = 0
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > mostAnswerBytes) request.destroy()
  })
}

function parentOf({ traceId, parentSpanId }: Span) {
  if (parentSpanId === null) return ROOT_CONTEXT
  const parent = { traceId, spanId: parentSpanId, traceFlags: TraceFlags.SAMPLED, isRemote: true }
  return trace.setSpanContext(ROOT_CONTEXT, parent)
}

function finish(started: OtelSpan, { failed, endMs }: Span): void {
  if (failed) started.setStatus({ code: SpanStatusCode.ERROR })
  started.end(endMs)
}
