/** LangGraph: when a question is answered, the tools that had finished in the same node run again. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, interrupt, tool } from '@meanwhile/core'
import { z } from 'zod'
import { exportsOf, type Load } from '../../peers/driver.ts'
import type { Row } from '../row.ts'

interface GraphModule {
  readonly StateGraph: new (state: object) => Graph
  readonly MemorySaver: new () => object
  readonly Command: new (settings: object) => object
  readonly Send: new (node: string, input: object) => object
  interrupt(question: string): string
}

interface Graph {
  addNode(name: string, node: unknown): Graph
  addEdge(from: string, to: string): Graph
  addConditionalEdges(from: string, next: (state: object) => readonly object[] | string): Graph
  compile(settings: object): { invoke(input: object, config: object): Promise<unknown> }
}

type MakeTool = (execute: () => string, settings: object) => object

const said = (pays: number, answers: readonly string[]): string =>
  `the payment was made ${pays === 1 ? 'once' : `${pays} times`}; the tool that asked got "${answers.join()}"`

/** All calls go to one `ToolNode`, or each to its own. */
async function theirs(load: Load): Promise<string> {
  return `one \`ToolNode\` for all: ${await paid(load, false)}. \`Send\` for each: ${await paid(load, true)}`
}

async function paid(load: Load, each: boolean): Promise<string> {
  const names = ['StateGraph', 'MemorySaver', 'Command', 'Send', 'interrupt'] as const
  const graphs = await exportsOf<GraphModule>(load, '@langchain/langgraph', names)
  const { MessagesAnnotation } = (await load('@langchain/langgraph')) as { readonly MessagesAnnotation: object }
  const prebuilt = await exportsOf<{ ToolNode: new (tools: readonly object[]) => object }>(
    load,
    '@langchain/langgraph/prebuilt',
    ['ToolNode'],
  )
  const core = await exportsOf<{ tool: MakeTool }>(load, '@langchain/core/tools', ['tool'])
  const { AIMessage } = await exportsOf<{ AIMessage: new (message: object) => object }>(
    load,
    '@langchain/core/messages',
    ['AIMessage'],
  )
  let pays = 0
  const answers: string[] = []
  const schema = { type: 'object', properties: {} }
  const pay = core.tool(() => `paid ${++pays}`, { name: 'pay', description: 'Pays.', schema })
  const asks = (): string => {
    answers.push(graphs.interrupt('Which day?'))
    return 'noted'
  }
  const ask = core.tool(asks, { name: 'ask', description: 'Asks.', schema })
  const tool_calls = ['pay', 'ask'].map((name) => ({ name, args: {}, id: name, type: 'tool_call' }))
  const graph = new graphs.StateGraph(MessagesAnnotation)
    .addNode('tools', new prebuilt.ToolNode([pay, ask]))
    .addConditionalEdges('__start__', (state) =>
      each ? tool_calls.map((call) => new graphs.Send('tools', { ...state, lg_tool_call: call })) : 'tools',
    )
    .addEdge('tools', '__end__')
    .compile({ checkpointer: new graphs.MemorySaver() })
  const config = { configurable: { thread_id: '1' } }
  await graph.invoke({ messages: [new AIMessage({ content: '', tool_calls })] }, config)
  await graph.invoke(new graphs.Command({ resume: 'Monday' }), config)
  return said(pays, answers)
}

async function ours(): Promise<string> {
  let pays = 0
  const given: string[] = []
  const input = z.strictObject({})
  const pay = tool({ name: 'pay', description: 'Pays.', input, execute: () => `paid ${++pays}` })
  const ask = tool({
    name: 'ask',
    description: 'Asks.',
    input,
    execute(_, { answers }) {
      if (answers.length === 0) throw interrupt('Which day?')
      given.push(...answers.map(String))
      return 'noted'
    },
  })
  const model = scriptedModel([respond(call('pay'), call('ask')), respond(say('Done.'))])
  const agent = createAgent({ model, tools: [pay, ask] })
  const asked = await agent.run('Pay.')
  if (asked.status === 'completed') throw new Error('it has asked nothing')
  const { checkpoint, interrupts = [] } = asked
  await agent.resume(checkpoint, Object.fromEntries(interrupts.map(({ id }) => [id, 'Monday']))).result
  return said(pays, given)
}

export const ranAgain: Row = {
  title: 'A payment next to a tool that asks',
  library: 'LangGraph',
  thread: { name: 'langchain-ai/langgraph#3126', status: '2025-01, merged' },
  note: "A node begins again as a whole, as its documentation says. The thread is of LangGraph for Python: the change that lets a `ToolNode` get one call. `createAgent` of LangChain and `createReactAgent` with `version: 'v2'` use that.",
  test: {
    file: 'packages/core/src/vocabulary/questions-and-other-calls.test.ts',
    title: 'other calls finish, several questions are listed in call order, and only what asked is made again',
  },
  trial: {
    folder: 'libraries',
    packages: ['@langchain/langgraph', '@langchain/core'],
    right: 'ours',
    theirs,
    ours,
    expected: {
      theirs:
        'one `ToolNode` for all: the payment was made 2 times; the tool that asked got "Monday". `Send` for each: the payment was made once; the tool that asked got "Monday"',
      ours: 'the payment was made once; the tool that asked got "Monday"',
    },
  },
}
