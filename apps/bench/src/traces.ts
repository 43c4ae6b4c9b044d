/** Spans to a collector, if one is asked for. */

export interface Traces {
  /** Sends what is left. Never rejects, and takes no more than about a second: a collector that is not there must not matter. */
  flush(): Promise<void>
}

/** Starts the OpenTelemetry SDK; `say` is told once if the spans could not be sent. */
export async function startTraces(url: string, say: (text: string) => void): Promise<Traces> {
  const settings = {
    OTEL_SERVICE_NAME: 'meanwhile-bench',
    // A dead collector costs a second, not eight.
    OTEL_EXPORTER_OTLP_TIMEOUT: '1000',
    // Jaeger takes traces alone.
    OTEL_METRICS_EXPORTER: 'none',
    OTEL_LOGS_EXPORTER: 'none',
    // No host name, no command line.
    OTEL_NODE_RESOURCE_DETECTORS: 'env',
  }
  for (const [name, value] of Object.entries(settings)) process.env[name] ??= value
  // Loaded only now: a fifth of a second that other runs need not spend.
  const [{ NodeSDK }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ])
  const traceExporter = new OTLPTraceExporter({ url: new URL('v1/traces', url.endsWith('/') ? url : `${url}/`).href })
  const sdk = new NodeSDK({ traceExporter })
  sdk.start()
  return {
    flush: () => sdk.shutdown().catch((error: unknown) => say(`Spans not sent to ${url}: ${reasonOf(error)}`)),
  }
}

function reasonOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? first.message || first.name : String(first)
}
