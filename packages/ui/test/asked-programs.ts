/** Random agents with calls that ask: in the step itself, in agents inside calls at any depth, in the background, and in tools that make calls. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, agentTool, createAgent, type Json, type Middleware, type Tool, tool } from '@meanwhile/core'
import { approve } from '@meanwhile/middleware'
import fc from 'fast-check'
import { z } from 'zod'

type Leaf = 'pay' | 'choose'
type Step = Leaf | Relay | Inner

/** A tool that makes these payments itself. */
interface Relay {
  readonly payments: number
  readonly isParallel: boolean
}

/** An agent in a call. */
interface Inner {
  readonly steps: readonly Step[]
  readonly events: boolean
  readonly background: boolean
}

export interface Program {
  readonly steps: readonly Step[]
  /** Whether a wrap outside `approve` changes what the model wrote. */
  readonly isWrapped: boolean
}

const { step } = fc.letrec<{ step: Step; inner: Inner }>((tie) => ({
  step: fc.oneof(
    { maxDepth: 3, depthSize: 'small' },
    fc.constantFrom<Leaf>('pay', 'pay', 'choose'),
    fc.record({ payments: fc.integer({ min: 1, max: 2 }), isParallel: fc.boolean() }),
    tie('inner'),
  ),
  inner: fc.record({
    steps: fc.array(tie('step'), { minLength: 1, maxLength: 3 }),
    events: fc.boolean(),
    background: fc.boolean(),
  }),
}))

export const program: fc.Arbitrary<Program> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 3 }),
  isWrapped: fc.boolean(),
})

/** Ids that each model uses again. One contains the separator of paths. */
const IDS = ['a', 'b', 'a/b']

/** Ids that each tool that makes calls uses again: models use them, too. */
const OWN_IDS = ['a', 'b']

const amount = z.object({ n: z.number() })

const relay = (name: string, { isParallel }: Relay, amounts: readonly number[]): Tool =>
  tool({
    name,
    description: 'r',
    input: z.object({}),
    async execute(_, { run }) {
      const pay = async (n: number, index: number) =>
        run?.callTool({ type: 'tool-call', id: `${OWN_IDS[index]}`, name: 'pay', input: { n } })
      if (isParallel) await Promise.all(amounts.map(pay))
      else for (const [index, n] of amounts.entries()) await pay(n, index)
      return 'relayed'
    },
  }) as Tool

const change: Middleware = {
  name: 'change',
  wrapToolCall: (made, next) =>
    next(made.name === 'pay' ? { ...made, input: { n: (made.input as { n: number }).n + 100_000 } } : made),
}

/** The agent of a program. `ran` gets the input of each payment. */
export function agentOf({ steps, isWrapped }: Program, ran: number[]): Agent {
  let amounts = 0
  let names = 0
  const pay = tool({
    name: 'pay',
    description: 'p',
    input: amount,
    execute({ n }) {
      ran.push(n)
      return `paid ${n}`
    },
  }) as Tool
  const choose = tool({ name: 'choose', description: 'c', input: amount, output: z.object({ chosen: z.number() }) })
  const made = (steps: readonly Step[], name: string): Agent => {
    const tools: Tool[] = [pay, choose as Tool]
    const calls = steps.map((step, index) => {
      const id = IDS[index] ?? ''
      if (typeof step === 'string') return call(step, { n: ++amounts }, { id })
      const toolName = `${'steps' in step ? 'agent' : 'relay'}${++names}`
      if ('payments' in step)
        tools.push(
          relay(
            toolName,
            step,
            Array.from({ length: step.payments }, () => ++amounts),
          ),
        )
      else {
        const { events, background } = step
        const inside = agentTool(made(step.steps, toolName), { name: toolName, description: 'a', events })
        tools.push({ ...inside, ...(background && { background }) } as Tool)
      }
      return call(toolName, 'payments' in step ? {} : { request: 'Go' }, { id })
    })
    const model = scriptedModel(
      Array.from({ length: 20 }, () => ({ messages }) => {
        return messages.some(({ role }) => role === 'assistant') ? respond(say('Done.')) : respond(...calls)
      }),
    )
    const middleware = [...(isWrapped ? [change] : []), approve({ tools: ['pay'] })]
    return createAgent({ name, model, tools, middleware })
  }
  return made(steps, 'main')
}

/** How many questions a run asks: each call asks once. */
export function questionsIn(steps: readonly Step[]): number {
  const counts = steps.map((step) => {
    if (typeof step === 'string') return 1
    return 'steps' in step ? questionsIn(step.steps) : step.payments
  })
  return counts.reduce((sum, count) => sum + count, 0)
}

/** Whether the run tells how all calls end. */
export function tellsEnds(steps: readonly Step[]): boolean {
  return steps.every((step) => typeof step === 'string' || !('steps' in step) || (step.events && tellsEnds(step.steps)))
}

/** A model and two tools that pay with the id `a` at once. */
export const WITH_ONE_ID: Program = {
  steps: ['pay', { payments: 1, isParallel: true }, { payments: 2, isParallel: true }],
  isWrapped: false,
}

export interface Decision {
  readonly decision: 'allow' | 'deny' | 'edit'
  readonly input?: Json
}

/** The decision about a payment: it only depends on its amount. */
export function decisionAbout(n: number, seed: number): Decision {
  const decision = (['allow', 'deny', 'edit'] as const)[(n + seed) % 3] ?? 'allow'
  return decision === 'edit' ? { decision, input: { n: n + 1_000 } } : { decision }
}
