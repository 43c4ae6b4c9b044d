/** The places where the SDK, or what a user gives it, stands between the model's call and the tool. */

import { inspect } from 'node:util'
import { sleep } from '@meanwhile/tests/clock'
import { unhandledRejections } from '@meanwhile/tests/rejections'
import {
  Agent,
  handoff,
  type ModelRequest,
  RunContext,
  RunState,
  run,
  shellTool,
  type ToolInputGuardrailDefinition,
  tool,
} from '@openai/agents'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { isSooner, type Program, told } from '../../test/agent-programs.ts'
import { answer, done, type Item, one, type Part, Q, raw, requested, Script, sealed } from '../../test/agents.ts'

unhandledRejections()
beforeEach(() => {
  vi.useFakeTimers()
  // The SDK warns of names that occur twice.
  vi.spyOn(console, 'warn').mockReturnValue()
})
afterEach(() => void vi.useRealTimers())

const B = '{"q":"b"}'
/** A response with these calls of `look` and `book`; 100 ms pass before it ends. */
const both = [
  ...sealed('1', 'look', Q),
  ...sealed('2', 'book', B, 1),
  100,
  done(requested('1', 'look', Q), requested('2', 'book', B)),
]
const twice: Part[][] = [both, [...sealed('3'), 100, done(requested('3'))], answer]

/** Both runs of a program, after a check that they differ in the times of tools only. */
async function expectSame(program: Program): Promise<readonly [plain: readonly number[], early: readonly number[]]> {
  const plain = await told(program, false)
  const { times, warnings, undone, ...early } = await told(program, true)
  expect({ ...early, times: plain.times, warnings: [], undone: [] }).toEqual(plain)
  expect([warnings, undone]).toEqual([[], []])
  return [plain.times, times]
}

const rejecting = (message: string) => [
  {
    type: 'tool_input' as const,
    name: 'g',
    run: async () => ({ behavior: { type: 'rejectContent' as const, message } }),
  },
]

/** Where calls of the declared tools wait until the SDK makes them. */
const late: Readonly<Record<string, Program['adds']>> = {
  '`needsApproval: true`': () => ({ tool: { needsApproval: true } }),
  '`needsApproval` as a function that allows': (tell) => ({
    tool: {
      needsApproval: async (_: unknown, input: unknown) => {
        tell('needsApproval', input)
        return false
      },
    },
  }),
  'tool input guardrails': () => ({ tool: { inputGuardrails: rejecting('no') } }),
  'tool input guardrails before the approval': () => ({
    tool: { inputGuardrails: rejecting('no'), needsApproval: true },
    runner: { toolExecution: { preApprovalInputGuardrails: true } },
  }),
  '`isEnabled: false`': () => ({
    tool: { isEnabled: false },
    runner: { toolNotFoundBehavior: 'return_error_to_model' },
  }),
  '`isEnabled` as a function that changes': (tell) => {
    let asked = 0
    return {
      tool: {
        isEnabled: () => {
          tell('isEnabled')
          return asked++ > 100
        },
      },
      runner: { toolNotFoundBehavior: 'return_error_to_model' },
    }
  },
  '`outputSchema`': () => ({ tool: { outputSchema: z.object({ a: z.string() }), errorFunction: () => ({ a: 'no' }) } }),
  '`customDataExtractor`': (tell) => ({
    tool: {
      customDataExtractor: ({ input, tool }: { input?: unknown; tool: unknown }) => {
        tell('data', input, tool)
        return undefined
      },
    },
  }),
  '`allowedCallers` without the model': () => ({ tool: { allowedCallers: ['programmatic'] } }),
  'parallel input guardrails of the agent, which reject the run': () => ({
    agent: {
      inputGuardrails: [
        {
          name: 'g',
          execute: async () => {
            await sleep(50)
            return { tripwireTriggered: true, outputInfo: {} }
          },
        },
      ],
    },
  }),
}

/** The SDK makes each call of a program itself, although calls of the same responses start early without what the program adds. */
async function expectLate({ adds, go, ...program }: Program): Promise<void> {
  const [plain, early] = await expectSame({ ...program, ...(adds && { adds }), ...(go && { go }) })
  expect(early).toEqual(plain)
  const [alone, sooner] = await expectSame(program)
  expect(isSooner(sooner, alone)).toBe(true)
}

test.each(Object.keys(late))('%s: the SDK makes each call itself, and nothing differs (W47)', async (place) => {
  const adds = late[place]
  await expectLate({ responses: twice, ...(adds && { adds }) })
})

/** What is done before the response has ended as the SDK does it afterwards, or does not concern an early call. */
const early: Readonly<Record<string, Program['adds']>> = {
  nothing: () => ({}),
  '`isEnabled` as a function that allows': (tell) => ({
    tool: {
      isEnabled: ({ agent }: { agent: unknown }) => {
        tell('isEnabled', agent)
        return true
      },
    },
  }),
  'tool output guardrails': (tell) => ({
    tool: {
      outputGuardrails: [
        {
          type: 'tool_output' as const,
          name: 'g',
          run: async ({ output, toolCall }: { output: unknown; toolCall: unknown }) => {
            tell('guardrail', output, { toolCall })
            return { behavior: { type: 'rejectContent' as const, message: 'hidden' } }
          },
        },
      ],
    },
  }),
  'a timeout': () => ({ tool: { timeoutMs: 50 } }),
  'a timeout that is exceeded': (tell) => ({
    tool: {
      timeoutMs: 10,
      timeoutErrorFunction: (_: unknown, error: Error, details?: { toolCall?: { callId: string } }) => {
        tell('timeout', error, { toolCall: { callId: details?.toolCall?.callId } })
        return 'late'
      },
    },
  }),
  'input guardrails that run before the model': (tell) => ({
    agent: {
      inputGuardrails: [
        {
          name: 'g',
          runInParallel: false,
          execute: async ({ input }: { input: unknown }) => {
            tell('guardrail', input)
            return { tripwireTriggered: false, outputInfo: {} }
          },
        },
      ],
    },
  }),
  'a filter of the input of the model': (tell) => ({
    run: {
      callModelInputFilter: ({ modelData }) => {
        tell('filter', modelData)
        return { ...modelData, instructions: 'filtered' }
      },
    },
  }),
  'a limit of simultaneous executions': () => ({ run: { toolExecution: { maxFunctionToolConcurrency: 1 } } }),
  'the tools after which the run ends': (tell) => ({
    agent: {
      toolUseBehavior: (_, results) => {
        tell('toolUseBehavior', results)
        return { isFinalOutput: true, isInterrupted: undefined, finalOutput: 'ended' }
      },
    },
  }),
  'a last turn': () => ({ run: { maxTurns: 1 } }),
  'a missing tool': () => ({ run: { toolNotFoundBehavior: 'return_error_to_model' } }),
}

test.each(Object.keys(early))('%s: calls start early, and nothing else differs (W48)', async (place) => {
  const adds = early[place]
  for (const streams of [true, false]) {
    const [plain, sooner] = await expectSame({
      responses: twice,
      streams,
      settings: { alwaysStream: true },
      ...(adds && { adds }),
    })
    expect(plain[0]).toBe((sooner[0] ?? 0) + 100)
  }
})

/** What the user changes between the begin of a turn and its request, which is later than the tools are asked for. */
const between = (
  change: Parameters<NonNullable<Program['adds']>>[1] extends infer Tools ? (tools: Tools) => void : never,
) => {
  const adds: Program['adds'] = (_, tools) => ({
    runner: {
      callModelInputFilter: ({ modelData }) => {
        change(tools)
        return modelData
      },
    },
  })
  return adds
}

test.each([
  [
    'an approval',
    between(({ look, book }) => {
      for (const tool of [look, book]) if (tool) tool.needsApproval = async () => true
    }),
  ],
  [
    'an input guardrail',
    between(({ look, book }) => {
      for (const tool of [look, book])
        if (tool) tool.inputGuardrails = rejecting('no') as ToolInputGuardrailDefinition[]
    }),
  ],
  [
    'another function',
    between(({ look, book, send }) => {
      for (const tool of [look, book]) if (tool && send) tool.invoke = send.invoke
    }),
  ],
])('%s that is given after a turn has begun counts, and keeps its calls from starting early (W47)', async (_, adds) => {
  await expectLate({ responses: [both, answer], adds })
})

test('a rejection that the context of a run remembers keeps its tool from starting early (W47)', async () => {
  const paused: Program['go'] = async ({ runner, agent, tools, see }) => {
    const { look } = tools
    if (!look) throw new Error('no tool')
    const { needsApproval } = look
    look.needsApproval = async () => true
    const context = new RunContext()
    const first = await runner.run(agent, 'go', { stream: true, context })
    const before = await see(first)
    for (const interruption of first.state.getInterruptions())
      first.state.reject(interruption, { alwaysReject: true, message: 'never' })
    look.needsApproval = needsApproval
    const after = await see(await runner.run(agent, first.state, { stream: true }))
    const again = await see(await runner.run(agent, 'again', { stream: true, context }))
    return [before, after, again, await see(await runner.run(agent, 'anew', { stream: true }))]
  }
  const responses = [one('1'), one('2'), answer, one('3'), answer, one('4'), answer]
  const { times, ...plain } = await told({ responses, go: paused }, false)
  const { times: sooner, ...early } = await told({ responses, go: paused }, true)
  expect(early).toEqual(plain)
  // Only the run with another context makes its call, early.
  expect(plain.calls).toEqual(['look 4 a'])
  expect(sooner).toEqual(times.map((time) => time - 100))
})

test.each([
  ['an approval', (tool: { needsApproval: unknown }) => void (tool.needsApproval = async () => true)],
  ['an input guardrail', (tool: { inputGuardrails?: unknown }) => void (tool.inputGuardrails = rejecting('no'))],
])(
  '%s that is given when a call has started already counts, and ends early starts of that tool and no other one, with one warning (W47)',
  async (_, change) => {
    const go: Program['go'] = async ({ runner, agent, tools, see }) => {
      const { look } = tools
      if (!look) throw new Error('no tool')
      const { needsApproval, inputGuardrails } = look
      const results: unknown[] = []
      for (const input of ['one', 'two']) {
        setTimeout(() => change(look), 50)
        results.push(await see(await runner.run(agent, input, { stream: true })))
        Object.assign(look, { needsApproval, inputGuardrails })
      }
      return results
    }
    const response = (id: string) => [
      ...sealed(`${id}1`, 'look', Q),
      ...sealed(`${id}2`, 'book', B, 1),
      100,
      done(requested(`${id}1`, 'look', Q), requested(`${id}2`, 'book', B)),
    ]
    const responses = [response('a'), response('b'), answer]
    const plain = await told({ responses, go }, false)
    const { warnings, calls, times, ...early } = await told({ responses, go }, true)
    expect({ ...early, calls: [], times: [], warnings: [] }).toEqual({ ...plain, calls: [], times: [] })
    expect(calls.filter((call) => call.startsWith('look'))).toEqual(['look a1 a'])
    expect(calls.filter((call) => call.startsWith('book'))).toEqual(plain.calls)
    expect(warnings).toEqual([
      expect.stringMatching(/^late-approval: look does not start early any more: .*`approval`$/),
    ])
  },
)

test('a tool that reads what exists only after the response is executed by the SDK, and starts early no more, with one warning that names it (W46)', async () => {
  const usage = 'usage of the run context'
  const reads: readonly (readonly [
    string,
    (context: RunContext | undefined, details: object | undefined) => unknown,
  ])[] = [
    [usage, (context) => context?.usage.totalTokens],
    [usage, (context) => Object.entries(context?.usage ?? {})],
    [usage, (context) => structuredClone(context?.usage)],
    [usage, (context) => inspect(context?.usage)],
    [usage, (context) => context],
    ['toolCall.providerData of its details', (_, details) => Object(details).toolCall.providerData],
    ['all members of toolCall of its details', (_, details) => ({ ...Object(details).toolCall })],
  ]
  for (const [member, read] of reads) {
    const adds: Program['adds'] = () => ({
      tool: {
        execute: async (_: unknown, context?: RunContext, details?: object) => {
          try {
            return JSON.stringify(read(context, details))
          } catch {
            return 'caught'
          }
        },
      },
    })
    const program: Program = { responses: [one('1'), one('2'), answer], adds }
    const plain = await told(program, false)
    const { warnings, ...early } = await told(program, true)
    expect({ ...early, warnings: [] }).toEqual(plain)
    expect(warnings).toEqual([
      `tool-declined: look does not start early any more: it reads ${member}, which exists only when the response has ended, and the call is executed again`,
    ])
  }
})

const shellCall: Item = {
  type: 'shell_call',
  callId: 's',
  status: 'completed',
  action: { commands: ['ls'] },
}

test('calls after one of a local shell wait for the SDK, as after any undeclared tool (W47)', async () => {
  const go: Program['go'] = async ({ agent, tell, start }) => {
    const run = async () => {
      tell('shell')
      return { output: [{ stdout: 'x', stderr: '', outcome: { type: 'exit' as const, exitCode: 0 } }] }
    }
    agent.tools.push(shellTool({ shell: { run } }))
    return start()
  }
  const shell = { type: 'shell_call', call_id: 's', id: 's', action: { commands: ['ls'] } }
  const first: Part[] = [
    raw({ type: 'response.output_item.added', output_index: 0, item: shell }),
    raw({ type: 'response.output_item.done', output_index: 0, item: shell }),
    ...sealed('1', 'look', Q, 1),
    100,
    done(shellCall, requested('1')),
  ]
  const [plain, early] = await expectSame({ responses: [first, one('2'), answer], go })
  expect([plain, early]).toEqual([
    [100, 220],
    [100, 120],
  ])
})

test('a call that a program makes waits for the SDK (W47)', async () => {
  const caller = { type: 'program', caller_id: 'p' }
  const first: Part[] = [
    ...sealed('1', 'look', Q, 0, { caller }),
    100,
    done(Object.assign(requested('1'), { caller: { type: 'program' as const, callerId: 'p' } })),
  ]
  const adds: Program['adds'] = () => ({ tool: { allowedCallers: ['direct', 'programmatic'] } })
  const [plain, early] = await expectSame({ responses: [first, one('2'), answer], adds })
  expect([plain, early]).toEqual([
    [100, 220],
    [100, 120],
  ])
})

test('a handoff with the name of a tool is called in its place (W47)', async () => {
  const adds: Program['adds'] = (_, { send }) => ({
    agent: { handoffs: [handoff(new Agent({ name: 'b', tools: send ? [send] : [] }), { toolNameOverride: 'look' })] },
  })
  const both = [...sealed('1', 'book', B), ...sealed('2', 'look', '{}', 1), 100]
  const first = [...both, done(requested('1', 'book', B), requested('2', 'look', '{}'))]
  const [plain, early] = await expectSame({ responses: [first, answer], adds })
  expect([plain, early]).toEqual([[100], [0]])
})

/** A run inside a tool, with the context of the run around it. */
const inside: Readonly<
  Record<string, (inner: Agent, model: { readonly model: Agent['model'] }) => Agent['tools'][number]>
> = {
  'an agent as a tool': (inner) => inner.asTool({ toolName: 'ask', toolDescription: 'a' }),
  'a tool that runs an agent': (inner) =>
    tool({
      name: 'ask',
      description: 'a',
      parameters: z.object({ input: z.string() }),
      execute: async ({ input }, context) => {
        const options = context ? { context } : {}
        return (await run(inner, input, { ...options })).finalOutput
      },
    }),
}
test.each(Object.keys(inside))('%s, with the context of the run: the calls of both run once (W46)', async (kind) => {
  const go: Program['go'] = async ({ runner, agent, tools, model, see }) => {
    const { look, book, send } = tools
    if (!look || !book || !send) throw new Error('no tool')
    // It is an agent that the run observes, because it may be handed off to.
    const inner = new Agent({ name: 'inner', instructions: 'i', model, tools: [look] })
    agent.handoffs = [inner]
    const ask = inside[kind]?.(inner, agent)
    if (ask) agent.tools = [ask, send, book, look]
    // The SDK asks for `book` when the run inside is under way.
    const toolExecution = { maxFunctionToolConcurrency: 2 }
    return see(await runner.run(agent, 'go', { stream: true, toolExecution }))
  }
  const ask = '{"input":"x"}'
  const first: Part[] = [
    ...sealed('1', 'ask', ask),
    ...sealed('5', 'send', Q, 1),
    ...sealed('2', 'book', B, 2),
    100,
    done(requested('1', 'ask', ask), requested('5', 'send', Q), requested('2', 'book', B)),
  ]
  const program: Program = {
    responses: [first, one('3'), answer, one('4'), answer],
    settings: { independent: ['ask', 'send'] },
    ms: 2,
    go,
  }
  const plain = await told(program, false)
  const { calls, times, ...early } = await told(program, true)
  expect(plain.calls).toEqual(['send 5 a', 'book 2 b', 'look 3 a', 'look 4 a'])
  expect({ ...early, calls: [], times: [] }).toEqual({ ...plain, calls: [], times: [] })
  // The run inside is plain, and the run around it is eager before and after it.
  expect([calls, times]).toEqual([
    ['book 2 b', 'send 5 a', 'look 3 a', 'look 4 a'],
    [0, 100, 200, 202],
  ])
})

test.each([true, false])(
  'a tool that starts early may run an agent with its context: both execute once, and the usage is the same (W46), streamed: %s',
  async (stream) => {
    const asked: { readonly requests: number; readonly at: number }[] = []
    const adds: Program['adds'] = () => {
      const began = performance.now()
      const model = new Script([answer])
      const inner = new Agent({ name: 'inner', instructions: 'i', model })
      const execute = async (_: unknown, context?: RunContext) => {
        const at = performance.now() - began
        const options = context ? { context } : {}
        const result = stream ? await run(inner, 'x', { ...options, stream }) : await run(inner, 'x', { ...options })
        if ('completed' in result) await result.completed
        asked.push({ requests: model.requests.length, at })
        return 'asked'
      }
      return { tool: { execute } }
    }
    const program: Program = {
      responses: [one('1'), answer],
      adds,
      go: async ({ runner, agent, see }) => {
        const result = await runner.run(agent, 'go', { stream: true })
        return [await see(result), result.state._context.usage]
      },
    }
    const plain = await told(program, false)
    const early = await told(program, true)
    // What the SDK reports of the usage meanwhile depends on when the tool runs.
    expect({ ...early, callbacks: [] }).toEqual({ ...plain, callbacks: [] })
    expect(asked.map(({ requests }) => requests)).toEqual([1, 1])
    expect(asked.map(({ at }) => at)).toEqual([100, 0])
  },
)

test('the cause of an unobserved request is that of its own turn (R10)', async () => {
  const go: Program['go'] = async ({ runner, agent, model, see }) => {
    const inner = new Agent({ name: 'inner', instructions: 'i', model })
    const look = tool({
      name: 'look',
      description: 'l',
      parameters: z.object({ q: z.string() }),
      execute: async () => {
        if (agent.model !== model) return 'again'
        await run(inner, 'x')
        agent.model = new Script([one('2'), answer])
        return 'first'
      },
    })
    agent.model = model
    agent.tools = [look]
    return see(await runner.run(agent, 'go', { stream: true }))
  }
  const program: Program = { responses: [one('1'), answer], effects: { look: 'read' }, go }
  const { warnings } = await told(program, true)
  expect(warnings).toEqual([expect.stringMatching(/^host-unknown: .* the model could not be observed/)])
})

test('simultaneous runs with one context do not use each other’s calls (W46)', async () => {
  const go: Program['go'] = async ({ runner, agent, see }) => {
    const context = new RunContext()
    const results = await Promise.all(
      ['one', 'two'].map(async (input) => {
        if (input === 'two') await sleep(30)
        return see(await runner.run(agent, input, { stream: true, context }))
      }),
    )
    return results.map((result) => Object(result).finalOutput)
  }
  const response = (id: string) => [
    ...sealed(id, 'book', `{"q":"${id}"}`),
    100,
    done(requested(id, 'book', `{"q":"${id}"}`)),
  ]
  const program: Program = {
    responses: [response('1'), response('2'), response('3'), response('4'), answer],
    go,
    ms: 60,
  }
  const plain = await told(program, false)
  const early = await told(program, true)
  expect([early.calls, early.undone, early.warnings]).toEqual([plain.calls, [], []])
  expect(early.times.length).toBe(4)
  expect(isSooner(early.times, plain.times)).toBe(true)
})

test('a call whose id has occurred before a pause is not made again, early or late (W47)', async () => {
  const go: Program['go'] = async ({ runner, agent, tools, see }) => {
    if (tools.send) tools.send.needsApproval = async () => true
    const first = await runner.run(agent, 'go', { stream: true })
    const before = await see(first)
    const state = await RunState.fromString(agent, first.state.toString())
    for (const interruption of state.getInterruptions()) state.approve(interruption)
    return [before, await see(await runner.run(agent, state, { stream: true }))]
  }
  const first: Part[] = [...sealed('1', 'book', B), 50, done(requested('1', 'book', B), requested('2', 'send'))]
  const again: Part[] = [...sealed('1', 'book', B), 50, done(requested('1', 'book', B))]
  const [plain, early] = await expectSame({ responses: [first, again, answer], go })
  expect([plain, early]).toEqual([
    [50, 170],
    [0, 120],
  ])
})

test.each([
  ['gets copies of its tools', 'a model gets copies of the tools of its request'],
  [
    'cannot be observed',
    'the model could not be observed: its object is frozen, or it has been exchanged during the run',
  ],
])('if a model %s, nothing starts early, and the warning names that cause (W48)', async (kind, cause) => {
  const go: Program['go'] = async ({ runner, agent, model, see }) => {
    // The runner's model is observed from here on.
    await see(await runner.run(agent, 'go', { stream: true }))
    const asked = kind === 'cannot be observed' ? new Script([one('1'), answer]) : model
    const getStreamedResponse = asked.getStreamedResponse.bind(asked)
    agent.model = Object.freeze({
      getResponse: (request: ModelRequest) => asked.getResponse(request),
      getStreamedResponse: (request: ModelRequest) =>
        getStreamedResponse({ ...request, tools: structuredClone(request.tools) }),
    })
    return see(await runner.run(agent, 'go', { stream: true }))
  }
  const { warnings, times } = await told({ responses: [answer, one('1'), answer], go }, true)
  expect(times).toEqual([100])
  expect(warnings).toEqual([
    `host-unknown: no tool starts early: a model request could not be linked to its step. ${cause}`,
  ])
})

test('a response that the SDK refuses switches nothing off (W48)', async () => {
  const go: Program['go'] = async ({ start }) => {
    const results: unknown[] = []
    for (let run = 0; run < 5; run++) results.push(await start().catch((error: Error) => error.message))
    return results
  }
  const first: Part[] = [...sealed('1'), 100, done(requested('1'), requested('2', 'unknown'))]
  for (const streams of [true, false]) {
    const program: Program = { responses: [first], go, streams, settings: { alwaysStream: true } }
    const plain = await told(program, false)
    const { times, warnings, result } = await told(program, true)
    expect(result).toEqual(plain.result)
    expect([plain.times.length, times.length, warnings]).toEqual([0, 5, []])
  }
})
