import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { programAt } from '@meanwhile/tests/programs'
import { expect, test } from 'vitest'
import { started } from '../test/started.ts'
import type { Run } from './model/run.ts'
import type { RunDetail, RunList } from './server/api.ts'

const PROGRAM = programAt(new URL('../test/node-sdk-process.ts', import.meta.url))

test('NodeSDK, set up only by environment variables: protobuf and JSON, with and without gzip, give the same picture (DT2)', async () => {
  const pictures = []
  for (const OTEL_EXPORTER_OTLP_PROTOCOL of ['http/protobuf', 'http/json']) {
    for (const OTEL_EXPORTER_OTLP_COMPRESSION of ['none', 'gzip']) {
      const { url } = await started()
      const env = {
        ...process.env,
        OTEL_EXPORTER_OTLP_ENDPOINT: url,
        OTEL_EXPORTER_OTLP_PROTOCOL,
        OTEL_EXPORTER_OTLP_COMPRESSION,
        OTEL_SERVICE_NAME: 'trips',
        OTEL_NODE_RESOURCE_DETECTORS: 'env',
      }
      const child = spawn(process.execPath, [PROGRAM], { env, stdio: ['ignore', 'inherit', 'inherit'] })
      expect(await once(child, 'close')).toEqual([0, null])
      const [summary, ...more] = (await get<RunList>(`${url}/api/runs`)).runs
      expect(more).toEqual([])
      pictures.push(withoutIds((await get<RunDetail>(`${url}/api/runs/${summary?.key}`)).run))
    }
  }
  const [first, ...others] = pictures
  expect(first).toMatchObject({
    agent: 'trip',
    service: 'trips',
    dialect: 'ai-sdk',
    state: 'completed',
    start: 1_790_000_000_000,
    end: 1_790_000_002_660,
    usage: { input: 812, output: 64 },
    steps: [
      {
        responses: [{ start: 1_790_000_000_007, first: 1_790_000_000_301, end: 1_790_000_001_352.25, model: 'mock' }],
        calls: [
          { tool: 'hotels', start: 1_790_000_001_358, end: 1_790_000_001_668.5, fate: 'failed', error: 'no rooms' },
        ],
      },
    ],
  })
  for (const other of others) expect(other).toEqual(first)
})

const withoutIds = (run: Run): unknown =>
  JSON.parse(JSON.stringify(run, (name, value: unknown) => (name === 'key' || name === 'spanId' ? undefined : value)))

async function get<Answer>(url: string): Promise<Answer> {
  return (await (await fetch(url)).json()) as Answer
}
