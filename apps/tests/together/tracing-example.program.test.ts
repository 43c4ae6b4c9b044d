import { type ChildProcess, spawn } from 'node:child_process'
import { assertNotSent, assertSpanTree, spanNamed } from '@meanwhile/harness/assert'
import { type OtlpReceiver, type OtlpReceiverOptions, otlpReceiver } from '@meanwhile/harness/otlp'
import { programAt } from '@meanwhile/tests/programs'
import { expect, onTestFinished, test } from 'vitest'

// examples/tracing.ts as a user starts it: in its own process. Only the environment defines where spans go.

const PROGRAM = programAt(new URL('../../../examples/tracing.ts', import.meta.url))

/** Without the time limit of the example, the environment's counts: ten minutes, so that a late end is late on any machine. */
const LATE = { OTEL_EXPORTER_OTLP_TIMEOUT: '600000', OTEL_BSP_EXPORT_TIMEOUT: '600000' }
const IN_TIME = 60_000

async function setup(options?: OtlpReceiverOptions) {
  const receiver = await otlpReceiver(options)
  onTestFinished(() => receiver.close())
  return receiver
}

function start({ url }: OtlpReceiver, environment: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, ['--no-warnings', PROGRAM], {
    env: {
      PATH: process.env.PATH,
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const text = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (part: string) => (text[name] += part))
  }
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...text }))
  })
  return { child, ended }
}

/** Resolves when it has written that its tool is running. */
function atWork(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.stdout?.on('data', (part: string) => part.includes('weather starts') && resolve())
  })
}

/** After the answer it prints its spans. */
const ANSWERED = expect.stringMatching(
  /^weather starts while the model is still streaming\nSunny\.\ninvoke_agent trip_planner 0–\d+ ms\n/,
)

const ATTRIBUTES = ['meanwhile.outcome', 'meanwhile.dispatch.mode']

test('the example delivers its run to a collector before it ends, and sends nothing about the machine', async () => {
  const receiver = await setup()
  expect(await start(receiver).ended).toEqual({
    code: 0,
    stdout: ANSWERED,
    stderr: '',
  })
  assertSpanTree(
    receiver.spans,
    `
      invoke_agent trip_planner {"meanwhile.outcome":"completed"}
        middleware eager-tools wrapAgent
          middleware eager-tools wrapModel
            chat scripted-1 {"meanwhile.outcome":"completed"}
          execute_tool weather {"meanwhile.outcome":"committed","meanwhile.dispatch.mode":"early"}
          middleware eager-tools wrapModel
            chat scripted-1 {"meanwhile.outcome":"completed"}
    `,
    { attributes: ATTRIBUTES },
  )
  const { resource, scope } = spanNamed(receiver.spans, 'execute_tool weather')
  expect(scope).toEqual({ name: '@meanwhile/core', version: expect.any(String) })
  expect(resource).toEqual({
    'service.name': 'trip-planner',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.name': 'opentelemetry',
    'telemetry.sdk.version': expect.any(String),
  })
  assertNotSent(receiver.requests, ['Rome', 'Sunny', process.execPath])
  expect(new Set(receiver.requests.map(({ path }) => path))).toEqual(new Set(['/v1/traces']))
})

test.each(['SIGINT', 'SIGTERM'] as const)('%s during a run delivers the spans so far', async (signal) => {
  const receiver = await setup()
  const { child, ended } = start(receiver)
  await atWork(child)
  child.kill(signal)
  expect(await ended).toEqual({
    code: 130,
    stdout: expect.stringMatching(
      /^weather starts while the model is still streaming\ninvoke_agent trip_planner 0–\d+ ms\n/,
    ),
    stderr: '',
  })
  assertSpanTree(
    receiver.spans,
    `
        invoke_agent trip_planner
          middleware eager-tools wrapAgent
            middleware eager-tools wrapModel
              chat scripted-1
            execute_tool weather
      `,
  )
  const outcome = (name: string) => spanNamed(receiver.spans, name).attributes['meanwhile.outcome']
  expect(outcome('invoke_agent trip_planner')).toBe('cancelled')
  // The model was still streaming, or had just ended.
  expect(['discarded', 'cancelled']).toContain(outcome('execute_tool weather'))
})

test.each([
  ['is not there', undefined, /^traces not sent: .*ECONNREFUSED.*\n$/],
  ['hangs', 'hang', /^traces not sent: Request timed out\n$/],
  ['answers 503', { status: 503 }, /^traces not sent: .+\n$/],
] as const)('with a collector that %s the run succeeds, and the process ends in time', async (_, fault, said) => {
  const receiver = await setup({ fault: fault ?? [] })
  if (fault === undefined) await receiver.close()
  const { child, ended } = start(receiver, LATE)
  await atWork(child)
  const began = performance.now()
  expect(await ended).toEqual({
    code: 0,
    stdout: ANSWERED,
    stderr: expect.stringMatching(said),
  })
  expect(performance.now() - began).toBeLessThan(IN_TIME)
})

/** If `localhost` has an IPv4 and an IPv6 address and neither answers, the error has no message. */
const BOTH_FAMILIES = `
import dns from 'node:dns'
const addresses = [{ address: '::1', family: 6 }, { address: '127.0.0.1', family: 4 }]
dns.lookup = (name, options, done) => process.nextTick(done, null, addresses)`

test('if there is no collector at either of two addresses, the message also contains the reason', async () => {
  const receiver = await setup()
  await receiver.close()
  const { ended } = start(receiver, {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url.replace('127.0.0.1', 'localhost'),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(BOTH_FAMILIES)}`,
  })
  expect(await ended).toMatchObject({ code: 0, stderr: 'traces not sent: ECONNREFUSED\n' })
})

test('a collector that does not accept JSON is reported, and the request is not repeated', async () => {
  const receiver = await setup({ fault: { status: 415 } })
  const { ended } = start(receiver)
  expect(await ended).toMatchObject({ code: 0, stderr: 'traces not sent: Unsupported Media Type\n' })
  expect(receiver.requests.map(({ status }) => status)).toEqual([415])
})
