/** The commonest mistakes of users, especially of those who know the AI SDK, and what the compiler must say about each. */

import { written } from './project.ts'

interface Mistake {
  /** One statement of the user. */
  readonly code: string
  /** A part of the compiler's message, the same under each TypeScript. */
  readonly says: string
}

const HEAD = `import { agentTool, createAgent, type Model, tool } from '@meanwhile/core'
import { eager } from '@meanwhile/eager-tools/ai-sdk'
import { approve, retryModel } from '@meanwhile/middleware'
import { createThreads, memoryThreads } from '@meanwhile/threads'
import { isStepCount, type LanguageModel, streamText, ToolLoopAgent, tool as sdkTool } from 'ai'
import { z } from 'zod'
import { z as z3 } from 'zod/v3'

declare const model: Model
declare const theirs: Exclude<LanguageModel, string>
const input = z.object({ city: z.string() })
const weather = sdkTool({ inputSchema: input, execute: ({ city }) => city })
const tools = { weather }
const own = tool({ name: 'weather', description: 'w', input, execute: ({ city }) => city })
const agent = createAgent({ model, tools: [own], output: input })
const context = z.object({ user: z.string() })
const mine = tool({ name: 'mine', description: 'm', input, context, execute: (_, { context }) => context.user })
const needing = createAgent({ model, name: 'n', description: 'n', tools: [own, mine] })
const result = await agent.run('Hi')
`

const MISTAKES: readonly Mistake[] = [
  {
    code: "tool({ name: 'a', description: 'b', inputSchema: input, execute: () => 'c' })",
    says: `is not assignable to type '"tool() has no inputSchema: write input"'.`,
  },
  {
    code: "tool({ name: 'a', description: 'b', input, needsApproval: true, execute: () => 'c' })",
    says: `is not assignable to type '"tool() has no needsApproval: use the middleware approve()"'.`,
  },
  {
    code: "tool({ name: 'a', description: 'b', input, outputSchema: input, execute: () => ({ city: 'c' }) })",
    says: `is not assignable to type '"tool() has no outputSchema: write output"'.`,
  },
  {
    code: "tool({ name: 'a', description: 'b', input, toModelOutput: () => 'c', execute: () => 'c' })",
    says: `is not assignable to type '"tool() has no toModelOutput: write toContent"'.`,
  },
  {
    code: "tool({ description: 'b', input, execute: () => 'c' })",
    says: "Property 'name' is missing in type '{ description: string;",
  },
  {
    code: 'createAgent({ model: theirs })',
    says: `is not assignable to type '"a model of the AI SDK: write aiSdk(model)"'.`,
  },
  {
    code: "tool({ name: 'a', description: 'b', input, effect: 'write', execute: () => 'c' })",
    says: `Type '"write"' is not assignable to type '"`,
  },
  {
    code: "tool({ name: 'a', description: 'b', input, effect: 'reversible', execute: () => 'c' })",
    says: "Property 'compensate' is missing in type",
  },
  {
    code: "tool({ name: 'a', description: 'b', input: z3.object({ city: z3.string() }), execute: () => 'c' })",
    says: "Property 'jsonSchema' is missing in type",
  },
  {
    code: "tool({ name: 'a', description: 'b', input, execute: ({ town }) => town })",
    says: "Property 'town' does not exist on type '{ city: string; }'.",
  },
  {
    code: 'createAgent({ model, tools: { own } })',
    says: "'own' does not exist in type 'readonly Tool<",
  },
  {
    code: "createAgent({ model, system: 'Be brief.' })",
    says: `is not assignable to type '"createAgent() has no system: write instructions"'.`,
  },
  {
    code: 'createAgent({ model, tools: [own], stopWhen: isStepCount(5) })',
    says: `is not assignable to type '"createAgent() has no stopWhen: write maxSteps"'.`,
  },
  {
    code: 'createAgent({ model, tools: [own], temperature: 0 })',
    says: `is not assignable to type '"createAgent() has no temperature: write settings: { temperature }"'.`,
  },
  {
    code: 'createAgent({ model, tools: [own], onStepFinish: () => {} })',
    says: `is not assignable to type '"createAgent() has no onStepFinish: read the events of agent.stream()"'.`,
  },
  {
    code: 'createAgent({ model, toolz: [own] })',
    says: "Did you mean to write 'tools'?",
  },
  {
    code: "createAgent({ model: 'gpt-5' })",
    says: "Type 'string' is not assignable to type 'Model'.",
  },
  {
    code: 'createAgent({ model, middleware: [retryModel] })',
    says: "Type '(options?: RetryModelOptions) => Middleware' is not assignable to type 'Middleware'.",
  },
  {
    code: "agent.run({ prompt: 'Hi' })",
    says: "'prompt' does not exist in type 'readonly Message[]'.",
  },
  {
    code: "needing.run('Hi')",
    says: 'Expected 2 arguments, but got 1.',
  },
  {
    code: "needing.stream('Hi', { conversationId: 'c' })",
    says: "Property 'context' is missing in type '{ conversationId: string; }' but required in type '{ readonly context: { user: string; }; }'.",
  },
  {
    code: "needing.run('Hi', { context: { usr: 'ada' } })",
    says: "Did you mean to write 'user'?",
  },
  {
    code: "createAgent({ model, tools: [agentTool(needing)] }).run('Hi')",
    says: 'Expected 2 arguments, but got 1.',
  },
  {
    code: 'agentTool(needing, { context: () => ({}) })',
    says: "Type '() => {}' is not assignable to type '(outer: unknown) => ",
  },
  {
    code: 'createThreads({ agent: needing, store: memoryThreads() })',
    says: "Property 'context' is missing in type '{ agent: Agent<unknown, { user: string; }>; store: ThreadStore; }' but required in type",
  },
  {
    code: 'result.output.city',
    says: "'result.output' is possibly 'undefined'.",
  },
  {
    code: "approve({ tools: 'pay' })",
    says: "Type 'string' is not assignable to type 'readonly string[] | ((call: ToolCall, run: Run) => Awaitable<boolean>)'.",
  },
  {
    code: "streamText(eager({ model: theirs, tools, prompt: 'x' }, { wether: 'read' }))",
    says: "Did you mean to write 'weather'?",
  },
  {
    code: "new ToolLoopAgent(eager({ model: theirs, tools }, { wether: 'read' }))",
    says: "Did you mean to write 'weather'?",
  },
  {
    code: "streamText(eager({ model: theirs, tools, prompt: 'x' }, { weather: 'write' }))",
    says: `Type '"write"' is not assignable to type '"`,
  },
]

/** Statements with `result.output` and the like that must compile. */
const RIGHT = `if (result.status === 'completed') result.output.city.trim()
new ToolLoopAgent(eager({ model: theirs, tools }, { weather: 'read' }))
export {}
`

const FIRST = HEAD.split('\n').length

/** Writes all mistakes into a file of a user, and returns its path. */
export function mistakesFile(): Promise<string> {
  return written('mistakes.ts', HEAD + MISTAKES.map(({ code }) => `${code}\n`).join('') + RIGHT)
}

/** @throws {Error} A mistake compiles, or the compiler does not say what it must. The message lists each with what the compiler says. */
export function checkMistakes(output: string, file: string): void {
  const said = byLine(output, file)
  const untold = MISTAKES.flatMap(({ code, says }, index) => {
    const text = said.get(FIRST + index) ?? 'nothing'
    return text.includes(says) ? [] : [`${code}\n  must say: ${says}\n  says: ${text}`]
  })
  const others = [...said].filter(([line]) => line < FIRST || line >= FIRST + MISTAKES.length)
  const problems = [...untold, ...others.map(([line, text]) => `line ${line}, which is right: ${text}`)]
  if (problems.length > 0) throw new Error(problems.join('\n'))
}

/** What the compiler says about each line of the file. A message goes on in the lines that are indented. */
function byLine(output: string, file: string): Map<number, string> {
  const said = new Map<number, string>()
  let line: number | undefined
  for (const text of output.split('\n')) {
    if (!text.startsWith(' ')) {
      const [, path = '', at] = /^(.+?)\((\d+),\d+\): error/.exec(text) ?? []
      line = path !== '' && file.endsWith(path.replace(/^(\.\.?\/)+/, '')) ? Number(at) : undefined
    }
    if (line !== undefined) said.set(line, `${said.get(line) ?? ''}${text}\n`)
  }
  return said
}
