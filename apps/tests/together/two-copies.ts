/** What two copies of the packages in one process do together: the host's agent runs what the guest has made, and the other way round. */

import type * as Testing from '@meanwhile/assemble/testing'
import type * as Core from '@meanwhile/core'
import type * as Bundled from '@meanwhile/middleware'

/** A copy of the packages. */
export interface Copy {
  readonly core: typeof Core
  readonly middleware: typeof Bundled
}

/** The copy of the application, which also scripts the models. */
export interface Host extends Copy {
  readonly testing: typeof Testing
}

const OBJECT: Core.ToolSchema = {
  '~standard': {
    version: 1,
    vendor: 'none',
    validate: (value) => ({ value }),
    jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
  },
}

function pay({ core }: Copy, execute: Core.Tool['execute'] = () => 'paid'): Core.Tool {
  return core.tool({ name: 'pay', description: 'Pays.', input: OBJECT, execute })
}

function asks({ testing }: Host, more: readonly Testing.ScriptResponse[] = []): Core.Model {
  const { call, respond, say, scriptedModel } = testing
  return scriptedModel([respond(call('pay', { request: 'Pay.' })), ...more, respond(say('Done.'))])
}

/** What each of these does; {@link TOGETHER} is right. */
export async function together(host: Host, guest: Copy): Promise<Readonly<Record<string, unknown>>> {
  const { createAgent } = host.core
  const { fail, respond, say, scriptedModel } = host.testing

  async function approved(): Promise<unknown> {
    const agent = createAgent({
      model: asks(host),
      tools: [pay(guest)],
      middleware: [guest.middleware.approve({ tools: ['pay'] })],
    })
    const asked = await agent.run('Go.')
    if (asked.status !== 'interrupted') return asked.status
    const [question] = asked.interrupts
    const id = question?.id ?? ''
    const { status, text } = await agent.resume(asked.checkpoint, { [id]: { decision: 'allow' } }).result
    return [asked.status, status, text]
  }

  async function asked(): Promise<unknown> {
    const asking = pay(guest, (_, { answers }) => answers[0] ?? guest.core.interrupt('Really?'))
    const agent = createAgent({ model: asks(host), tools: [asking] })
    const stopped = await agent.run('Go.')
    if (stopped.status !== 'interrupted') return stopped.status
    const [question] = stopped.interrupts
    const id = question?.id ?? ''
    const { messages } = await agent.resume(stopped.checkpoint, { [id]: 'yes' }).result
    return [question?.payload, messages.find(({ role }) => role === 'tool')?.content]
  }

  async function nested(outer: Copy, inner: Copy): Promise<unknown> {
    const clerk = inner.core.createAgent({
      name: 'pay',
      description: 'Pays.',
      model: asks(host),
      tools: [pay(inner, (_, { answers }) => answers[0] ?? inner.core.interrupt('Really?'))],
    })
    const agent = createAgent({ model: asks(host), tools: [outer.core.agentTool(clerk)] })
    const stopped = await agent.run('Go.')
    if (stopped.status !== 'interrupted') return stopped.messages
    const [question] = stopped.interrupts
    const id = question?.id ?? ''
    const { status, text } = await agent.resume(stopped.checkpoint, { [id]: 'yes' }).result
    return [question?.address.length, status, text]
  }

  async function shared(): Promise<unknown> {
    const local = guest.core.runLocal(() => ({ count: 0 }))
    const context = guest.core.contextOf(OBJECT)
    const seen: unknown[] = []
    const counts = (name: string): Core.Middleware => ({
      name,
      beforeModel: (state, run) => {
        seen.push(++local(run).count, context(run))
        return state
      },
    })
    const agent = createAgent({ model: scriptedModel([respond(say('Done.'))]), middleware: [counts('a'), counts('b')] })
    await agent.run('Go.', { context: { user: 'x' } })
    return seen
  }

  const retried = createAgent({
    model: scriptedModel([respond(fail({ status: 503 })), respond(say('Done.'))]),
    middleware: [guest.middleware.retryModel({ baseDelay: 0 })],
  })
  const elsewhere = createAgent({
    model: scriptedModel([respond(fail({ status: 503 }))]),
    middleware: [guest.middleware.fallbackModel({ models: [scriptedModel([respond(say('Done.'))])] })],
  })
  const limited = createAgent({
    model: asks(host),
    tools: [pay(guest)],
    middleware: [guest.middleware.callLimits({ modelCalls: 1 })],
  })
  const stopping = createAgent({
    model: asks(host),
    tools: [
      pay(host, () => {
        throw new guest.core.ContextError([{ path: '', message: 'no' }])
      }),
    ],
  })
  return {
    approve: await approved(),
    interrupt: await asked(),
    retryModel: (await retried.run('Go.')).text,
    fallbackModel: (await elsewhere.run('Go.')).text,
    callLimits: await limited.run('Go.').catch(({ name, messages }) => [name, messages?.length]),
    'an error that ends the run': await stopping.run('Go.').catch(({ name, messages }) => [name, messages?.length]),
    'an agent of the guest': await nested(guest, guest),
    'an agent of the guest as a tool by the host': await nested(host, guest),
    'an agent of the host as a tool by the guest': await nested(guest, host),
    runLocal: await shared(),
    'classes that do not know each other': [...strangers(host, guest), ...strangers(guest, host)],
  }
}

export const TOGETHER = {
  approve: ['interrupted', 'completed', 'Done.'],
  interrupt: ['Really?', [{ type: 'text', text: 'yes' }]],
  retryModel: 'Done.',
  fallbackModel: 'Done.',
  callLimits: ['CallLimitError', 3],
  'an error that ends the run': ['ContextError', 3],
  'an agent of the guest': [4, 'completed', 'Done.'],
  'an agent of the guest as a tool by the host': [4, 'completed', 'Done.'],
  'an agent of the host as a tool by the guest': [4, 'completed', 'Done.'],
  runLocal: [1, { user: 'x' }, 2, { user: 'x' }],
  'classes that do not know each other': [],
}

type ErrorClass = new (message: string) => Error

/** The error classes of one copy whose instances the classes of the other copy do not recognize as its own classes do. */
function strangers(one: Copy, other: Copy): readonly string[] {
  const [made, known] = [errorClasses(one), errorClasses(other)]
  const missing = [...known.keys()].filter((name) => !made.has(name))
  const unlike = [...made].filter(([, Made]) => {
    // Without the arguments of its own constructor.
    const error: object = Reflect.construct(one.core.AgentError, ['no'], Made)
    return [...made].some(([name, { prototype }]) => {
      const isOwn = Object.prototype.isPrototypeOf.call(prototype, error)
      return error instanceof (known.get(name) ?? Object) !== isOwn
    })
  })
  return [...missing, ...unlike.map(([name]) => name)]
}

function errorClasses({ core, middleware }: Copy): ReadonlyMap<string, ErrorClass> {
  const exported: readonly (readonly [string, unknown])[] = Object.entries({ ...core, ...middleware })
  return new Map(exported.filter(isErrorClass))
}

function isErrorClass(entry: readonly [string, unknown]): entry is [string, ErrorClass] {
  return typeof entry[1] === 'function' && entry[1].prototype instanceof Error
}

/** The errors of the host for everything that the guest, a copy with another format, has made. */
export async function refusals(host: Host, guest: Copy): Promise<Readonly<Record<string, unknown>>> {
  const { createAgent, agentTool, runLocal, contextOf } = host.core
  const { respond, say, scriptedModel } = host.testing
  const model = scriptedModel([respond(say('Done.'))])
  const told = async (act: () => unknown): Promise<unknown> => {
    try {
      return await act()
    } catch (error) {
      return error instanceof host.core.ConfigError ? error.message : error
    }
  }
  const foreign = async function* (): Core.Flow<never, Core.AssistantMessage> {
    yield* []
    throw new guest.core.ModelError('no', { code: 'unknown', retryable: true })
  }
  const within = (read: (run: Core.Run) => unknown) =>
    guest.core
      .createAgent({
        model,
        middleware: [
          {
            name: 'a',
            beforeModel: async (state, run) => {
              await read(run)
              return state
            },
          },
        ],
      })
      .run('Go.')
  const agent = guest.core.createAgent({ name: 'a', description: 'An agent.', model })
  return {
    tool: await told(() => createAgent({ model, tools: [pay(guest)] })),
    'stand-alone tool': await told(() => host.core.runTool(pay(guest), {})),
    middleware: await told(() => createAgent({ model, middleware: [guest.middleware.retryModel()] })),
    agent: await told(() => agentTool(agent)),
    'agent as a tool': await told(() => createAgent({ model, tools: [{ ...guest.core.agentTool(agent) }] })),
    interrupt: await told(() =>
      createAgent({ model: asks(host), tools: [pay(host, () => guest.core.interrupt())] }).run('Go.'),
    ),
    'error of a model': await told(() =>
      createAgent({ model: { provider: 'none', id: 'none', stream: foreign } }).run('Go.'),
    ),
    'error of a wrap': await told(() =>
      createAgent({ model, middleware: [{ name: 'a', wrapModel: foreign }] }).run('Go.'),
    ),
    runLocal: await new Promise((resolve) => {
      void within(async (run) => resolve(await told(() => runLocal(() => 1)(run))))
    }),
    contextOf: await new Promise((resolve) => {
      void within(async (run) => resolve(await told(() => contextOf(OBJECT)(run))))
    }),
  }
}
