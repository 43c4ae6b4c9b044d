// otel.ts, loaded first: npx tsx --import ./otel.ts app.ts
import { NodeSDK } from '@opentelemetry/sdk-node'

const sdk = new NodeSDK()
sdk.start()
export const flush = () =>
  sdk.shutdown().catch(({ message, code }) => console.error('traces not sent:', message || code))
