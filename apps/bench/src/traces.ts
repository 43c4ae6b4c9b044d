/** Collects the spans of the measured runs: for a collector, a file, or both. */

import type { SpanProcessor } from '@opentelemetry/sdk-trace'
import { deliveryOf } from './delivery.ts'

export interface TraceOptions {
  /** The URL of a collector. */
  readonly otlp?: string | undefined
  /** Whether all spans are kept, for a file. */
  readonly keep?: boolean
  /** Called once if not all spans arrived at the collector. */
  say(text: string): void
}

export interface Traces {
  /**
   * Sends the remaining spans; later ones are not traced. Never rejects, and takes at most about a second: a missing collector
   * must not matter.
   */
  stop(): Promise<void>
  /** The spans that were kept, as OTLP/JSON. */
  kept(): string
}

/** Starts the OpenTelemetry SDK. */
export async function startTraces({ otlp, keep = false, say }: TraceOptions): Promise<Traces> {
  for (const [name, value] of Object.entries(SETTINGS)) process.env[name] ??= value
  // Loaded only now: other runs need not spend a fifth of a second on it.
  const [{ NodeSDK }, { InMemorySpanExporter, SimpleSpanProcessor }, { JsonTraceSerializer }, api] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/otlp-transformer'),
    import('@opentelemetry/api'),
  ])
  const delivery = otlp === undefined ? undefined : await deliveryOf(otlp)
  const kept = new InMemorySpanExporter()
  const keeping = new SimpleSpanProcessor({ exporter: kept })
  const spanProcessors: SpanProcessor[] = [...(delivery ? [delivery.processor] : []), ...(keep ? [keeping] : [])]
  const sdk = new NodeSDK({ spanProcessors })
  sdk.start()
  let json = ''
  return {
    async stop() {
      await keeping.forceFlush()
      // Read first: a shutdown empties it.
      const bytes = JsonTraceSerializer.serializeRequest(kept.getFinishedSpans())
      json = new TextDecoder().decode(bytes)
      const error = await sdk.shutdown().then(
        () => undefined,
        (reason: unknown) => reason,
      )
      for (const global of [api.trace, api.context, api.propagation]) global.disable()
      const problem = delivery?.problem(error)
      if (problem !== undefined) say(problem)
    },
    kept: () => json,
  }
}

const SETTINGS = {
  OTEL_SERVICE_NAME: 'meanwhile-bench',
  // A dead collector costs a second, not eight.
  OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
  // Jaeger only accepts traces.
  OTEL_METRICS_EXPORTER: 'none',
  OTEL_LOGS_EXPORTER: 'none',
  // No host name, no command line.
  OTEL_NODE_RESOURCE_DETECTORS: 'env',
}
