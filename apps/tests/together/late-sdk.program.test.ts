import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { assertSpanTree } from '@meanwhile/harness/assert'
import { otlpReceiver } from '@meanwhile/harness/otlp'
import { expect, test } from 'vitest'

const PROGRAM = fileURLToPath(new URL('./late-sdk.ts', import.meta.url))

test('an SDK set up after packages, agents and runs gets the spans and metrics of all that comes then, old agents included', async () => {
  await using receiver = await otlpReceiver()
  const env = {
    PATH: process.env.PATH,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_LOGS_EXPORTER: 'none',
  }
  const args = ['--conditions=@meanwhile/source', '--no-warnings', PROGRAM]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { env })
  expect([stdout, stderr]).toEqual(['Done.\nDone.\nDone.\nseen\n', ''])
  const run = (agent: string) => `
    invoke_agent ${agent}
      middleware eager-tools wrapAgent
        middleware eager-tools wrapModel
          chat scripted-1
        execute_tool look
        middleware eager-tools wrapModel
          chat scripted-1`
  const runs = receiver.points.filter(({ name }) => name === 'gen_ai.invoke_agent.duration')
  expect(
    runs.map((point) => [point.attributes['gen_ai.agent.name'], point.kind === 'histogram' && point.count]),
  ).toEqual([
    ['early', 1],
    ['late', 1],
  ])
  assertSpanTree(receiver.spans, `${run('early')}${run('late')}\n    execute_tool look`)
})
