/** `HttpAgent` as a page uses it, without a browser. */

import type { HttpAgent, Interrupt, Message } from '@ag-ui/client'
import { expect, vi } from 'vitest'
import { asksApproval, cardText, shownMessages } from './pages/ag-ui-messages.ts'
import { withFile } from './pages/file.ts'
import type { Tab } from './tab.ts'

/** Each version has its own types. */
type AgentClass = new (options: { url: string; threadId: string }) => object

const CHOOSE = { name: 'choose', description: 'The page chooses.', parameters: {} }

/** A tab of the thread, which has got its messages. `base`: the address of the door. */
export async function agentTab(Agent: AgentClass, base: string, threadId: string): Promise<Tab> {
  const opened = (): HttpAgent => Object(new Agent({ url: base, threadId }))
  let agent = opened()
  let interrupts: readonly Interrupt[] = []
  const answers = new Map<string, unknown>()
  const ran: string[] = []
  let filled = ''
  let error = ''

  async function run(parameters: object = {}) {
    answers.clear()
    interrupts = []
    error = ''
    const own = agent
    const thrown: unknown = await agent.runAgent({ tools: [CHOOSE], ...parameters }).then(
      () => '',
      (thrown) => thrown,
    )
    // The page was loaded again.
    if (own !== agent) return
    error ||= String(thrown)
    const results = new Set(agent.messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
    const open = agent.messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []))
    const asked = open.find(({ id, function: { name } }) => name === 'choose' && !results.has(id))
    if (!asked || ran.includes(asked.id)) return
    ran.push(asked.id)
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId: asked.id, content: 'red' })
    await run()
  }

  /** The client sends answers when all questions have one. */
  function answer(payload: unknown) {
    const question = interrupts.find(({ id }) => !answers.has(id))
    if (question) answers.set(question.id, payload)
    if (answers.size < interrupts.length) return
    const resume = [...answers].map(([interruptId, payload]) => ({ interruptId, status: 'resolved', payload }))
    void run({ resume })
  }

  function cut(until: number) {
    agent.setMessages(agent.messages.slice(0, until))
  }

  const say = (content: Message['content']) =>
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content } as Message)
  const users = () => agent.messages.flatMap(({ role }, place) => (role === 'user' ? [place] : []))

  const buttons: Readonly<Record<string, (text: string) => unknown>> = {
    Send(text) {
      say(text)
      return run()
    },
    Attach(text) {
      say(withFile(text) as Message['content'])
      return run()
    },
    Edit(text) {
      const rewind = agent.messages[0]?.id
      cut(0)
      say(text)
      return run({ forwardedProps: { rewind } })
    },
    Cut(text) {
      cut(users().at(-1) ?? 0)
      say(text)
      return run()
    },
    'Try again'() {
      if (error) return run({ forwardedProps: { retry: true } })
      cut((users().at(-1) ?? 0) + 1)
      return run()
    },
    Stop: () => fetch(`${base}/${threadId}/stop`, { method: 'POST', headers: JSON_BODY, body: '{}' }),
    Allow: () => answer({ approved: true }),
    Deny: () => answer({ approved: false, reason: 'No.' }),
    Change: () => answer({ approved: true, editedArgs: { to: 'eve' } }),
    Answer: () => answer({ count: Number(filled) }),
  }

  function open() {
    const own = opened()
    agent = own
    own.subscribe({
      onEvent({ event }) {
        const { type, outcome, message } = Object(event)
        if (own !== agent) return
        if (type === 'RUN_FINISHED') interrupts = outcome?.interrupts ?? []
        if (type === 'RUN_ERROR') error = message
      },
    })
  }

  function text(): string {
    const asked = interrupts.flatMap((one) => (asksApproval(one) ? [] : [one.message ?? '']))
    const shown = shownMessages(agent.messages, interrupts, new Set(answers.keys()))
    return [...shown.flatMap((one) => [one.text, ...one.cards.map(cardText)]), ...asked, error].join('\n')
  }

  open()
  await run()
  return {
    async send(said, button = 'Send') {
      await vi.waitFor(() => expect(agent.isRunning).toBe(false), WAIT)
      void buttons[button]?.(said)
    },
    async click(button) {
      if (button === 'Stop') await buttons.Stop?.('')
      else await vi.waitFor(() => expect(agent.isRunning).toBe(false), WAIT)
      if (button !== 'Stop') void buttons[button]?.('')
    },
    async fill(_, given) {
      filled = given
    },
    shows: (said) => vi.waitFor(() => expect(text()).toContain(said), WAIT),
    isReady: () => vi.waitFor(() => expect([agent.isRunning, error]).toEqual([false, '']), WAIT),
    text: async () => text(),
    ran: async () => ran.length,
    messages: async () => agent.messages,
    async reload() {
      agent.abortRun()
      open()
      void run()
    },
  }
}

const WAIT = { timeout: 60_000 }
const JSON_BODY = { 'content-type': 'application/json' }
