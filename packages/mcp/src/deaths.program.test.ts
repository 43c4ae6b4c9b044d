import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, type ToolMessage, textOf } from '@meanwhile/core'
import { sized } from '@meanwhile/tests/size'
import { expect, test } from 'vitest'
import { journal, type Line, ours, overHttp } from '../test/servers.ts'
import { McpConnectionError, type McpMiddleware, mcp } from './index.ts'

/** Forty moments, or some of them. */
const COUNT = sized({ small: 4, middle: 4, whole: 40 })
const MOMENTS = Array.from({ length: COUNT }, (_, index) => Math.floor((index * 40) / COUNT))

/** Each run has calls with other ids; the server is killed when the run emits an event of this number. */
async function killedAt(moment: number, servers: McpMiddleware, kill: () => void) {
  const id = (name: string) => `${name}-${moment}`
  const model = scriptedModel(
    [
      respond(
        call('lookup', { key: id('a') }, { id: id('a') }),
        say('and then'),
        call('write', { key: id('w') }, { id: id('w') }),
      ),
      respond(call('pay', { amount: moment }, { id: id('p') }), call('lookup', { key: id('b') }, { id: id('b') })),
      respond(say('done')),
    ],
    { pace: { firstToken: 0, betweenTokens: 2 } },
  )
  const run = createAgent({ model, middleware: [servers] }).stream('Go')
  let events = 0
  for await (const _ of run) if (events++ === moment) kill()
  const result = await run.result
  const read = new Map(
    result.messages
      .filter((message): message is ToolMessage => message.role === 'tool')
      .map((message) => [message.callId, textOf(message)]),
  )
  return { result, read, id, events }
}

/** Checks what the journal says about the run against what the model has read. `down`: what it reads while there is no server. */
function check(
  { result, read, id }: Awaited<ReturnType<typeof killedAt>>,
  lines: readonly Line[],
  down?: RegExp,
): void {
  const isDown = (name: string) => down?.test(read.get(id(name)) ?? '') === true
  const count = (what: string, key: string) => lines.filter((line) => line.what === what && line.key === key).length
  expect(result.status).toBe('completed')
  for (const name of ['a', 'b']) if (!isDown(name)) expect(read.get(id(name))).toBe(`${id(name)}=1`)
  const isUnknown = result.unknown?.includes(id('w')) ?? false
  expect(count('begin', id('w'))).toBeLessThanOrEqual(1)
  if (isDown('w')) expect(count('begin', id('w'))).toBe(0)
  else expect(read.get(id('w'))).toMatch(isUnknown ? /may have happened/ : /^wrote /)
  if (!isUnknown && !isDown('w')) expect(count('end', id('w'))).toBe(1)
}

/** The amounts that were paid more than once. Each run pays another one. */
function paidTwice(lines: readonly Line[]): readonly (string | undefined)[] {
  const states = lines.filter(({ what }) => what === 'paid').map(({ state }) => state)
  return states.filter((state, index) => states.indexOf(state) !== index)
}

const answered = async () => ({ action: 'accept' as const, content: { confirm: true } })

test('a server on stdio that is killed at any moment of a run: each call that acts begins at most once, no read is lost (MC4, MC19, MC20)', async () => {
  using log = journal()
  const starts = () => log.lines().filter(({ what }) => what === 'start')
  await using servers = mcp({
    servers: { a: ours({ JOURNAL: log.JOURNAL }) },
    trust: 'annotations',
    questions: answered,
  })
  const kill = () => {
    for (const { pid } of starts())
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It is one that was killed before.
      }
  }
  for (const moment of MOMENTS) check(await killedAt(moment, servers, kill), log.lines())
  expect(paidTwice(log.lines())).toEqual([])
})

test('a server over HTTP that is killed at any moment of a run and started again: the same (MC4, MC19, MC20)', async () => {
  using log = journal()
  const env = { JOURNAL: log.JOURNAL }
  let server = await overHttp(env)
  const { port, url } = server
  let again: Promise<unknown> = Promise.resolve()
  try {
    await using servers = mcp({ servers: { a: { url } }, trust: 'annotations', questions: answered })
    for (const moment of MOMENTS) {
      const kill = () => {
        const { child } = server
        const gone = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGKILL')
        again = gone.then(async () => {
          server = await overHttp(env, port)
        })
      }
      const ended = await killedAt(moment, servers, kill).catch((error: unknown) => error)
      // It had not begun when the server was gone.
      if (ended instanceof McpConnectionError) expect(moment).toBeLessThan(2)
      else check(ended as Awaited<ReturnType<typeof killedAt>>, log.lines(), /^a: cannot be reached/)
      await again
    }
    expect(paidTwice(log.lines())).toEqual([])
  } finally {
    server[Symbol.dispose]()
  }
})
