// Sends each span of a process when it ends: a process that is killed has sent all earlier ones.

import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { NodeSDK } from '@opentelemetry/sdk-node'
import { SimpleSpanProcessor } from '@opentelemetry/sdk-trace'

process.env.OTEL_METRICS_EXPORTER ??= 'none'
export const telemetry = new NodeSDK({
  serviceName: `worker ${process.pid}`,
  autoDetectResources: false,
  spanProcessors: process.env.OTEL_EXPORTER_OTLP_ENDPOINT
    ? [new SimpleSpanProcessor({ exporter: new OTLPTraceExporter({ timeoutMillis: 1_000 }) })]
    : [],
})
telemetry.start()
