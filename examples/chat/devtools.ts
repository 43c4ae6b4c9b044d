/** Shows the runs of the chat in the devtools, while they happen. */

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { PortInUseError, startDevtools } from '@meanwhile/devtools'
import { devtools } from '@meanwhile/devtools/processor'
import { NodeSDK } from '@opentelemetry/sdk-node'

const PAGE = join(import.meta.dirname, '../../packages/devtools/page/build.ts')

export async function traceToDevtools() {
  execFileSync(process.execPath, [PAGE], { stdio: ['ignore', 'ignore', 'inherit'] })
  const page = await startDevtools().catch((error: unknown) => {
    if (error instanceof PortInUseError) return startDevtools({ port: 0 })
    throw error
  })
  // Messages stay on this machine.
  process.env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT ??= 'true'
  const spanProcessors = [devtools({ url: page.url })]
  const sdk = new NodeSDK({ serviceName: 'chat', autoDetectResources: false, metricReaders: [], spanProcessors })
  sdk.start()
  const close = async () => {
    await sdk.shutdown()
    await page.close()
  }
  return { url: page.url, close }
}
