/** An SDK whose batch processor exports to nowhere. */

import { context } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'

export interface Sdk {
  readonly tracerProvider: TracerProvider
  /** The work runs with the SDK's contexts, too: they are most of the cost of deltas. */
  inContexts(work: () => Promise<void>): Promise<void>
  /** How many spans were exported; after this, all of them. */
  shutdown(): Promise<number>
}

export function startSdk(): Sdk {
  let exported = 0
  const exporter: SpanExporter = {
    export(spans, done) {
      exported += spans.length
      done({ code: 0 })
    },
    shutdown: async () => undefined,
  }
  const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter })] })
  return {
    tracerProvider,
    async inContexts(work) {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
      try {
        await work()
      } finally {
        context.disable()
      }
    },
    async shutdown() {
      await tracerProvider.shutdown()
      return exported
    },
  }
}
