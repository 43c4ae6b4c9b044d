import { TracerProvider } from '@opentelemetry/sdk-trace'
import { devtools } from './processor.ts'

new TracerProvider({ spanProcessors: [devtools(), devtools({ url: 'http://localhost:1', everyMs: 10 })] })

// @ts-expect-error: milliseconds
devtools({ everyMs: '10' })
