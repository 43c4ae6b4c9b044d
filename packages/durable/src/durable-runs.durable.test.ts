import {
  type Agent,
  type AgentOptions,
  AnswerError,
  CheckpointMissingError,
  contextOf,
  createAgent,
  interrupt,
  type Message,
  type Tool,
  textOf,
  tool,
  UnknownInterruptError,
} from '@meanwhile/core'
import { postgresStore } from '@meanwhile/core/stores/postgres'
import { call, respond, type ScriptResponse, say, wait } from '@meanwhile/core/testing'
import { Pool } from 'pg'
import { beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { all, scripted, status, testRuns } from '../test/runs.ts'
import {
  DurableSetUpError,
  durableRuns,
  type Engine,
  NothingToRetryError,
  RunCancelledError,
  RunFailedError,
  RunIdError,
  RunIdTakenError,
  setUpDurable,
  UnknownAgentError,
  UnknownRunError,
} from './index.ts'

const here = testRuns()
const { runsOf, work } = here

const executed: string[] = []
beforeEach(() => {
  executed.length = 0
})

const look = tool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => {
    executed.push('look')
    return 'seen'
  },
})

const post = tool({
  name: 'post',
  description: 'Posts.',
  input: z.object({}),
  execute: () => {
    executed.push('post')
    return 'posted'
  },
})

const ask = tool({
  name: 'ask',
  description: 'Asks.',
  input: z.object({}),
  answer: z.enum(['yes', 'no']),
  execute(_, { answers: [said] }) {
    if (typeof said !== 'string') return interrupt('Really?')
    executed.push(`ask ${said}`)
    return `They said ${said}.`
  },
})

/** Runs until the run is cancelled or the gate is opened. */
function gate(name: string): { readonly tool: Tool; open(): void; readonly entered: Promise<void> } {
  let open = () => {}
  let enter = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  return {
    tool: tool({
      name,
      description: name,
      input: z.object({}),
      async execute(_, { signal }) {
        enter()
        await Promise.race([
          opened,
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
        ])
        executed.push(name)
        return 'through'
      },
    }),
    open: () => open(),
    entered,
  }
}

function agentOf(responses: readonly ScriptResponse[], options: Partial<AgentOptions> = {}): Agent {
  return createAgent({ name: 'clerk', model: scripted(...responses), tools: [look, post, ask], ...options })
}

const TWO_STEPS = [respond(call('look'), call('post')), respond(say('Done.'))]
const QUESTION = [respond(call('ask')), respond(say('Thanks.'))]

test('a run that one process starts is advanced by another, and any process gets its result', async () => {
  const starter = runsOf(agentOf(TWO_STEPS))
  await work(runsOf(agentOf(TWO_STEPS)))
  expect(await starter.start('clerk', 'Go', { id: 'run' })).toEqual({ id: 'run' })
  const result = await starter.result('run')
  expect([result.status, result.text, executed]).toEqual(['completed', 'Done.', ['look', 'post']])
  expect(await starter.get('run')).toEqual({
    id: 'run',
    agent: 'clerk',
    status: 'completed',
    attempts: 1,
    interrupts: [],
    unread: [],
    startedAt: expect.any(Date),
    endedAt: expect.any(Date),
  })
})

test('starting a run twice keeps the first input and wakes the one run (DU1, DU4)', async () => {
  const runs = runsOf(agentOf(TWO_STEPS))
  await Promise.all(['First', 'Second', 'Third'].map((input) => runs.start('clerk', input, { id: 'run' })))
  await work(runs)
  const first = await runs.result('run')
  await runs.start('clerk', 'Fourth', { id: 'run' })
  const again = await runs.result('run')
  expect(again.messages).toEqual(first.messages)
  expect(first.messages.filter(({ role }) => role === 'user')).toHaveLength(1)
  expect(executed).toEqual(['look', 'post'])
})

test('when a process dies before the engine is notified of its start, another start completes it (DU1)', async () => {
  const deaf: Engine = { ...here.engine, wake: () => Promise.reject(new Error('died')) }
  await expect(runsOf(agentOf(TWO_STEPS), { engine: deaf }).start('clerk', 'Go', { id: 'run' })).rejects.toThrow('died')
  // This start did not even store its row.
  await agentOf(TWO_STEPS).begin('Go', { id: 'rowless', checkpoints: postgresStore(here) })
  const runs = runsOf(agentOf(TWO_STEPS))
  await work(runs)
  for (const id of ['run', 'rowless']) {
    await runs.start('clerk', 'Anew', { id })
    expect(textOf((await runs.result(id)).messages[0] as Message)).toBe('Go')
  }
})

test('a run whose checkpoint is deleted fails, and none of its calls is made again (DU1)', async () => {
  const held = gate('hold')
  const runs = runsOf(
    agentOf([respond(call('hold')), respond(call('post')), respond(say('Done.'))], { tools: [held.tool, post] }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await held.entered
  await here.pool.query(`TRUNCATE ${here.schema}.checkpoints`)
  held.open()
  await expect(runs.result('run')).rejects.toThrow(RunFailedError)
  expect((await runs.get('run'))?.error?.name).toBe('CheckpointMissingError')
  expect(executed).toEqual(['hold'])
})

test('the first of two answers to one question counts, and an answer to an unknown question is refused (DU7, DU8)', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  const id = question?.id ?? ''
  expect(question?.payload).toBe('Really?')
  await expect(runs.answer('run', { other: 'yes' })).rejects.toThrow(UnknownInterruptError)
  await runs.answer('run', { [id]: 'yes' })
  await runs.answer('run', { [id]: 'no' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yes'])
  // After the end it is still not an error.
  await runs.answer('run', { [id]: 'no' })
})

test('an answer that does not match the schema of its question or asker is refused before it is stored, and another one is accepted (P17)', async () => {
  const even = tool({ ...ask, answer: z.string().refine((said) => said.length % 2 === 0, 'must be even') })
  const runs = runsOf(agentOf(QUESTION, { tools: [even] }))
  const stranger = runsOf(createAgent({ name: 'other', model: scripted() }))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await expect(runs.answer('run', { [id]: 'odd' })).rejects.toThrow(AnswerError)
  await expect(runs.answer('run', { [id]: 'even', other: 'even' })).rejects.toThrow(UnknownInterruptError)
  // It does not have the agent, only the JSON Schema of the question.
  await expect(stranger.answer('run', { [id]: 4 })).rejects.toThrow(AnswerError)
  expect((await here.pool.query(`SELECT * FROM ${here.schema}.answers`)).rows).toEqual([])
  expect(await runs.get('run')).toMatchObject({ status: 'interrupted', attempts: 1 })
  await runs.answer('run', { [id]: 'yeah' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yeah'])
})

test('an answer that only the worker refuses is dropped, and the question accepts another one (P17)', async () => {
  const even = tool({ ...ask, answer: z.string().refine((said) => said.length % 2 === 0, 'must be even') })
  await work(runsOf(agentOf(QUESTION, { tools: [even] })))
  const runs = runsOf(createAgent({ name: 'other', model: scripted() }), {
    agents: [agentOf(QUESTION, { tools: [look] })],
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await runs.answer('run', { [id]: 'odd' })
  await vi.waitFor(async () => expect((await runs.get('run'))?.error?.name).toBe('AnswerError'), { timeout: 5_000 })
  expect((await runs.get('run'))?.status).toBe('interrupted')
  await runs.answer('run', { [id]: 'even' })
  expect((await runs.result('run')).text).toBe('Thanks.')
  expect((await runs.get('run'))?.error).toBeUndefined()
  expect(executed).toEqual(['ask even'])
})

test('an answer to a run whose checkpoint is deleted is refused, and the run fails (DU1)', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await here.pool.query(`TRUNCATE ${here.schema}.checkpoints`)
  await expect(runs.answer('run', { [id]: 'yes' })).rejects.toThrow(CheckpointMissingError)
  await expect(runs.result('run')).rejects.toMatchObject({ error: { name: 'CheckpointMissingError' } })
  expect(executed).toEqual([])
})

test('a run that waits for its answer occupies no worker, and any worker continues it', async () => {
  const starter = runsOf(agentOf(QUESTION))
  const first = await work(runsOf(agentOf(QUESTION)))
  await starter.start('clerk', 'Go', { id: 'run' })
  await status(starter, 'run', 'interrupted')
  await first.stop()
  const id = (await starter.get('run'))?.interrupts[0]?.id ?? ''
  await starter.answer('run', { [id]: 'yes' })
  await starter.answer('run', { [id]: 'no' })
  expect((await starter.get('run'))?.status).toBe('running')
  await work(runsOf(agentOf(QUESTION)))
  expect((await starter.result('run')).text).toBe('Thanks.')
  expect(executed).toEqual(['ask yes'])
})

test('a worker that was considered dead and then fails does not fail the run, which another worker has (DU2)', async () => {
  const taken: (() => Promise<void>)[] = []
  const rash: Engine = {
    wake: async () => {},
    async work(advance) {
      taken.push(() => advance('run', { signal: new AbortController().signal }))
      return { stop: async () => {} }
    },
  }
  let fail = () => {}
  let asked = () => {}
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const broken = agentOf([], {
    model: {
      provider: 'broken',
      id: 'broken',
      async *stream() {
        asked()
        await new Promise<void>((resolve) => {
          fail = resolve
        })
        throw new TypeError('the connection is old')
      },
    },
  })
  const held = gate('hold')
  const healthy = agentOf([respond(call('hold')), respond(say('Done.'))], { tools: [held.tool] })
  await work(runsOf(broken, { engine: rash }))
  await work(runsOf(healthy, { engine: rash }))
  const runs = runsOf(healthy, { engine: rash })
  await runs.start('clerk', 'Go', { id: 'run' })
  const dying = taken[0]?.()
  await isAsked
  // The question is saved.
  await vi.waitFor(async () => {
    const { rows } = await here.pool.query(`SELECT revision FROM ${here.schema}.checkpoints`)
    expect(rows).toEqual([{ revision: '3' }])
  })
  const going = taken[1]?.()
  await held.entered
  fail()
  await dying
  expect((await runs.get('run'))?.status).toBe('running')
  held.open()
  await going
  expect((await runs.result('run')).text).toBe('Done.')
})

test('a message from another process comes before the next model call, once, in the order of the sends', async () => {
  const held = gate('hold')
  const script = [respond(call('hold')), respond(say('Done.'))]
  const starter = runsOf(agentOf(script, { tools: [held.tool] }))
  await starter.start('clerk', 'Go', { id: 'run' })
  await starter.send('run', 'While it waits')
  await work(runsOf(agentOf(script, { tools: [held.tool] })))
  await held.entered
  expect(await starter.send('run', 'First')).toBe(true)
  expect(await starter.send('run', { role: 'user', content: 'Second' })).toBe(true)
  // A sent message is part of the run when the run has stored it.
  await vi.waitFor(async () => {
    const { rows } = await here.pool.query(`SELECT checkpoint FROM ${here.schema}.checkpoints`)
    expect(JSON.parse(rows[0].checkpoint).sent).toHaveLength(2)
  })
  held.open()
  const { messages } = await starter.result('run')
  const said = messages.filter(({ role }) => role === 'user').map(textOf)
  expect(said).toEqual(['Go', 'While it waits', 'First', 'Second'])
  expect(await starter.send('run', 'Too late')).toBe(false)
  expect((await starter.get('run'))?.unread).toEqual([])
})

test('a message that arrives just as the run ends is kept as unread', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let offered = () => {}
  const offer = new Promise<void>((resolve) => {
    offered = resolve
  })
  const runs = runsOf(
    agentOf([respond(say('Done.'))], {
      middleware: [
        {
          name: 'slow-end',
          async *wrapAgent(setup, next) {
            const result = yield* next(setup)
            offered()
            await held
            return result
          },
        },
      ],
    }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await offer
  expect(await runs.send('run', 'And this?')).toBe(true)
  release()
  await runs.result('run')
  expect((await runs.get('run'))?.unread).toEqual([{ role: 'user', content: 'And this?' }])
})

test.each(['now', 'after-tools', 'after-model'] as const)(
  'a running run is cancelled %s from another process, and retry continues it',
  async (at) => {
    const held = gate('hold')
    const script = [respond(call('hold')), respond(call('post')), respond(say('Done.'))]
    const starter = runsOf(agentOf(script, { tools: [held.tool, post] }))
    await work(runsOf(agentOf(script, { tools: [held.tool, post] })))
    await starter.start('clerk', 'Go', { id: 'run' })
    await held.entered
    await starter.cancel('run', { at })
    if (at !== 'now') {
      // The run has received the cancel, and waits for its tool.
      await new Promise((resolve) => setTimeout(resolve, 200))
      held.open()
    }
    await expect(starter.result('run')).rejects.toThrow(RunCancelledError)
    expect((await starter.get('run'))?.status).toBe('cancelled')
    held.open()
    await starter.retry('run')
    const result = await starter.result('run')
    expect([result.text, executed]).toEqual(['Done.', at === 'now' ? ['post'] : ['hold', 'post']])
    expect(result.unknown).toEqual(at === 'now' ? [expect.any(String)] : undefined)
  },
)

test('a run that waits for a worker or for an answer is cancelled without a call', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await runs.start('clerk', 'Go', { id: 'queued' })
  await runs.cancel('queued')
  await work(runs)
  await expect(runs.result('queued')).rejects.toThrow(RunCancelledError)
  await runs.start('clerk', 'Go', { id: 'asking' })
  await status(runs, 'asking', 'interrupted')
  await runs.cancel('asking')
  expect((await runs.get('asking'))?.status).toBe('cancelled')
  await expect(runs.result('asking')).rejects.toThrow(RunCancelledError)
})

test('a failed run keeps its error and its checkpoint, and retry continues from there', async () => {
  let isBroken = true
  const script = [respond(call('post')), respond(call('look')), respond(say('Done.'))]
  const model = scripted(...script)
  const runs = runsOf(
    agentOf([], {
      model: {
        ...model,
        stream(request) {
          if (isBroken && request.messages.length > 3) throw new TypeError('the model is broken')
          return model.stream(request)
        },
      },
    }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(runs.result('run')).rejects.toMatchObject({
    name: 'RunFailedError',
    id: 'run',
    error: { message: expect.stringContaining('the model is broken') },
  })
  expect((await runs.get('run'))?.status).toBe('failed')
  isBroken = false
  await runs.retry('run')
  expect((await runs.result('run')).text).toBe('Done.')
  expect(executed).toEqual(['post', 'look'])
  await expect(runs.retry('run')).rejects.toThrow(NothingToRetryError)
})

test('a run that every worker leaves unfinished fails as poisoned, and retry gives it another chance (DU9)', async () => {
  const agent = agentOf(TWO_STEPS)
  const runs = runsOf(agent, { maxAttempts: 3 })
  await runs.start('clerk', 'Go', { id: 'run' })
  // As if three processes had died.
  await here.pool.query(`UPDATE ${here.schema}.runs SET attempts = 3`)
  await work(runs)
  await expect(runs.result('run')).rejects.toMatchObject({ error: { name: 'RunPoisonedError' } })
  expect(executed).toEqual([])
  await runs.retry('run')
  expect((await runs.result('run')).text).toBe('Done.')
})

test('a worker that lacks an agent or a tool lets others try, and in the end the run fails with an error that names what is missing (DU15)', async () => {
  const ignorant = durableRuns({
    agents: [createAgent({ name: 'other', model: scripted() })],
    store: postgresStore(here),
    pool: here.pool,
    engine: here.engine,
    schema: here.schema,
    maxAttempts: 4,
  })
  const knowing = runsOf(agentOf(TWO_STEPS))
  const first = await work(ignorant)
  await knowing.start('clerk', 'Go', { id: 'lacking' })
  await expect(knowing.result('lacking')).rejects.toMatchObject({ error: { name: 'UnknownAgentError' } })
  expect((await knowing.get('lacking'))?.attempts).toBe(4)
  await knowing.retry('lacking')
  await first.stop()
  await work(knowing)
  expect((await knowing.result('lacking')).text).toBe('Done.')
})

test('a worker that lacks the tool of an open call leaves the run to one that has it (DU15)', async () => {
  const starter = runsOf(agentOf(QUESTION))
  const first = await work(runsOf(agentOf(QUESTION)))
  await starter.start('clerk', 'Go', { id: 'run' })
  await status(starter, 'run', 'interrupted')
  await first.stop()
  const id = (await starter.get('run'))?.interrupts[0]?.id ?? ''
  const older = await work(runsOf(agentOf(QUESTION, { tools: [look] })))
  await starter.answer('run', { [id]: 'yes' })
  await vi.waitFor(async () => expect((await starter.get('run'))?.attempts).toBeGreaterThan(3), 5_000)
  expect((await starter.get('run'))?.status).toBe('running')
  await older.stop()
  await work(runsOf(agentOf(QUESTION)))
  expect((await starter.result('run')).text).toBe('Thanks.')
})

test('a worker that stops returns its runs to the engine at a safe point, and another worker continues them', async () => {
  const held = gate('hold')
  const script = [respond(call('hold')), respond(call('post')), respond(say('Done.'))]
  const starter = runsOf(agentOf(script, { tools: [held.tool, post] }))
  const first = await work(runsOf(agentOf(script, { tools: [held.tool, post] })))
  await starter.start('clerk', 'Go', { id: 'run' })
  await held.entered
  const stopping = first.stop()
  held.open()
  await stopping
  expect([executed, (await starter.get('run'))?.status]).toEqual([['hold'], 'running'])
  await work(runsOf(agentOf(script, { tools: [held.tool, post] })))
  const result = await starter.result('run')
  expect([executed, result.unknown]).toEqual([['hold', 'post'], undefined])
})

test('a worker stops after its grace time, whatever its runs do', async () => {
  let enter = () => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const stuck = tool({
    name: 'stuck',
    description: 'Hears nothing.',
    input: z.object({}),
    execute() {
      enter()
      return new Promise<string>((resolve) => setTimeout(resolve, 2_000, 'late'))
    },
  })
  const runs = runsOf(agentOf([respond(call('stuck')), respond(say('Done.'))], { tools: [stuck], grace: 60_000 }))
  const worker = await runs.work()
  await runs.start('clerk', 'Go', { id: 'run' })
  await entered
  const begun = Date.now()
  await worker.stop({ grace: 300 })
  expect(Date.now() - begun).toBeLessThan(1_000)
})

test('the context of a run is made in the process that advances it, from the options of start', async () => {
  const tenant = contextOf(z.object({ tenant: z.string() }))
  const agent = agentOf(QUESTION, {
    middleware: [
      {
        name: 'tenants',
        context: tenant,
        beforeModel(_state, run) {
          executed.push(tenant(run).tenant)
        },
      },
    ],
  })
  const asked: unknown[] = []
  const context = (run: unknown) => {
    asked.push(run)
    return { tenant: Object(Object(run).data).tenant }
  }
  const runs = runsOf(agent, { context })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run', conversationId: 'thread', data: { tenant: 'acme' } })
  await status(runs, 'run', 'interrupted')
  const id = (await runs.get('run'))?.interrupts[0]?.id ?? ''
  await runs.answer('run', { [id]: 'yes' })
  await runs.result('run')
  expect(executed).toEqual(['acme', 'ask yes', 'acme'])
  expect(new Set(asked.map((one) => JSON.stringify(one)))).toEqual(
    new Set([JSON.stringify({ id: 'run', agent: 'clerk', conversationId: 'thread', data: { tenant: 'acme' } })]),
  )
})

test('a context that cannot be made fails the run with a ContextError', async () => {
  let isDown = false
  const runs = runsOf(agentOf(TWO_STEPS), {
    context() {
      if (isDown) throw new Error('no such user')
    },
  })
  await runs.start('clerk', 'Go', { id: 'run' })
  isDown = true
  await work(runs)
  await expect(runs.result('run')).rejects.toMatchObject({
    error: { name: 'ContextError', message: expect.stringContaining('no such user') },
  })
})

test('delete removes a run with its checkpoint, answers and events, and a running run stops', async () => {
  const held = gate('hold')
  const runs = runsOf(
    agentOf([respond(call('hold')), respond(call('post')), respond(say('Done.'))], { tools: [held.tool, post] }),
  )
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await held.entered
  await runs.delete('run')
  await runs.delete('run')
  held.open()
  expect(await runs.get('run')).toBeUndefined()
  for (const name of ['runs', 'answers', 'inbox', 'events', 'checkpoints'])
    expect((await here.pool.query(`SELECT 1 FROM ${here.schema}.${name}`)).rows).toEqual([])
  await expect(runs.result('run')).rejects.toThrow(UnknownRunError)
  await expect(runs.send('run', 'Hello?')).rejects.toThrow(UnknownRunError)
  await expect(runs.cancel('run')).rejects.toThrow(UnknownRunError)
  await expect(runs.answer('run', {})).rejects.toThrow(UnknownRunError)
  await expect(runs.retry('run')).rejects.toThrow(UnknownRunError)
  expect(executed).not.toContain('post')
})

test('prune deletes only runs that have ended, with their checkpoints', async () => {
  const runs = runsOf(agentOf(QUESTION))
  await work(runs)
  for (const id of ['asking', 'cancelled']) {
    await runs.start('clerk', 'Go', { id })
    await status(runs, id, 'interrupted')
  }
  await runs.cancel('cancelled')
  expect(await runs.prune({ olderThan: Date.now() - 60_000 })).toBe(0)
  expect(await runs.prune({ olderThan: Date.now() + 60_000 })).toBe(1)
  expect([(await runs.get('asking'))?.status, await runs.get('cancelled')]).toEqual(['interrupted', undefined])
  expect((await here.pool.query(`SELECT key FROM ${here.schema}.checkpoints`)).rows).toEqual([{ key: 'asking' }])
})

test('an id that is not valid, or is already used, is refused (DU16)', async () => {
  const store = postgresStore(here)
  const other = createAgent({ name: 'other', model: scripted() })
  const runs = runsOf(other, { agents: [agentOf(TWO_STEPS), other] })
  for (const id of ['', 'x'.repeat(256), 'a\0b', '\ud800']) {
    await expect(runs.start('clerk', 'Go', { id })).rejects.toThrow(RunIdError)
  }
  for (const id of ['x'.repeat(255), 'ä/\u{1f9ea}"\\', ' ']) {
    await runs.start('clerk', 'Go', { id })
    expect((await runs.get(id))?.id).toBe(id)
  }
  await runs.start('clerk', 'Go', { id: 'run' })
  await expect(runs.start('other', 'Go', { id: 'run' })).rejects.toThrow(RunIdTakenError)
  await agentOf(TWO_STEPS).run('Go', { id: 'elsewhere', checkpoints: store })
  await expect(runs.start('clerk', 'Go', { id: 'elsewhere' })).rejects.toThrow(RunIdTakenError)
  await expect(runs.start('nobody', 'Go')).rejects.toThrow(UnknownAgentError)
})

test('text that PostgreSQL cannot store as it is, is stored: NUL and unpaired surrogates (DU16)', async () => {
  const odd = 'a\0b \ud800 \u{1f9ea}'
  const runs = runsOf(
    agentOf([respond(call('ask')), respond(say(odd))], {
      tools: [
        tool({
          name: 'ask',
          description: 'Asks.',
          input: z.object({}),
          execute: (_, { answers: [said] }) => (typeof said === 'string' ? said : interrupt(odd)),
        }),
      ],
    }),
  )
  await work(runs)
  await runs.start('clerk', odd, { id: 'run', data: odd })
  await status(runs, 'run', 'interrupted')
  const [question] = (await runs.get('run'))?.interrupts ?? []
  expect(question?.payload).toBe(odd)
  await runs.send('run', odd)
  await runs.answer('run', { [question?.id ?? '']: odd })
  const { messages } = await runs.result('run')
  expect(messages.map(textOf)).toEqual([odd, '', odd, odd, odd])
})

test('a server or database that does not exist, missing tables, tables of another version, and a wrong name have clear errors', async () => {
  const elsewhere = (part: 'port' | 'pathname', value: string) => {
    const pool = new Pool({ connectionString: Object.assign(new URL(here.database.url), { [part]: value }).href })
    return { pool, runs: runsOf(agentOf(TWO_STEPS), { pool, store: postgresStore({ pool }) }) }
  }
  const unreachable = elsewhere('port', '1')
  await expect(unreachable.runs.get('run')).rejects.toMatchObject({ name: 'DurableStoreError', code: 'ECONNREFUSED' })
  await expect(unreachable.runs.start('clerk', 'Go')).rejects.toThrow('the database has failed')
  await expect(setUpDurable({ pool: unreachable.pool })).rejects.toThrow('ECONNREFUSED')
  const nameless = elsewhere('pathname', '/nobody')
  for (const ask of [
    () => nameless.runs.get('run'),
    () => nameless.runs.start('clerk', 'Go'),
    () => nameless.runs.send('run', 'Hello?'),
    () => nameless.runs.result('run'),
    () => all(nameless.runs.events('run')),
  ])
    await expect(ask()).rejects.toThrow(`schema "${here.schema}": the database does not exist`)
  await Promise.all([unreachable.pool.end(), nameless.pool.end()])

  const bare = runsOf(agentOf(TWO_STEPS), { schema: 'nothing_here' })
  await expect(bare.get('run')).rejects.toThrow(DurableSetUpError)
  await expect(bare.get('run')).rejects.toThrow(
    'schema "nothing_here": its tables are missing: call setUpDurable first',
  )
  await here.pool.query(
    'CREATE SCHEMA IF NOT EXISTS foreign_one; CREATE TABLE IF NOT EXISTS foreign_one.runs (id text PRIMARY KEY)',
  )
  await expect(setUpDurable({ pool: here.pool, schema: 'foreign_one' })).rejects.toThrow('made by another version')
  // Tables of an earlier version, without a call of setUpDurable.
  const old = runsOf(agentOf(TWO_STEPS))
  await here.pool.query(`ALTER TABLE ${here.schema}.runs DROP COLUMN attempts`)
  for (const ask of [() => old.get('run'), () => old.start('clerk', 'Go', { id: 'run' })])
    await expect(ask()).rejects.toThrow('its tables were made by another version, or by another program')
  expect(() => runsOf(agentOf([]), { schema: 'no name' })).toThrow('schema: must be a name')
})

test('many processes may call setUpDurable at once (DU11)', async () => {
  const pools = Array.from({ length: 8 }, () => here.database.pool(2))
  await Promise.all(pools.map((one) => setUpDurable({ pool: one, schema: 'all_at_once' })))
  const runs = runsOf(agentOf(TWO_STEPS), {
    schema: 'all_at_once',
    store: postgresStore({ pool: here.pool, schema: 'all_at_once' }),
  })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  expect((await runs.result('run')).text).toBe('Done.')
})

test('the result is stored once, in the checkpoint: the engine does not receive it (DU17)', async () => {
  const outcomes: unknown[] = []
  const telling: Engine = {
    ...here.engine,
    work: (advance, options) =>
      here.engine.work(async (id, call) => {
        const outcome: unknown = await advance(id, call)
        outcomes.push(outcome)
      }, options),
  }
  const runs = runsOf(agentOf([respond(say('A result that is told apart.'))]), { engine: telling, events: false })
  await work(runs)
  await runs.start('clerk', 'Go', { id: 'run' })
  await runs.result('run')
  await vi.waitFor(() => expect(outcomes).toEqual([undefined]))
  const { rows } = await here.pool.query(`SELECT * FROM ${here.schema}.runs`)
  expect(JSON.stringify(rows)).not.toContain('told apart')
})

test('result and events throw the reason of their signal', async () => {
  const runs = runsOf(agentOf([respond(wait(0), say('x'))]))
  await runs.start('clerk', 'Go', { id: 'run' })
  const end = new AbortController()
  const result = runs.result('run', { signal: end.signal })
  const reading = (async () => {
    for await (const _ of runs.events('run', { signal: end.signal }));
  })()
  setTimeout(() => end.abort(new Error('enough')), 50)
  await expect(result).rejects.toThrow('enough')
  await expect(reading).rejects.toThrow('enough')
})
