/** What a person does with a chat. Each state that a trial looks for lasts until the trial lets it go. */

import { expect } from 'vitest'
import type { Server } from './server.ts'
import type { Tab } from './tab.ts'

interface Play extends Tab {
  readonly server: Server
  /** What the client shows in these cases. */
  readonly words: Words
  /** Opens another tab of the same chat. */
  another(): Promise<Tab>
}

export interface Words {
  /** An approval that another tab has answered. */
  readonly late: string
  /** A message that continues a branch which was replaced. */
  readonly branch: string
}

export const FEATURES: Readonly<Record<string, (play: Play) => Promise<void>>> = {
  async 'text and reasoning'({ send, shows }) {
    await send('Hello')
    await shows('You said Hello.')
  },
  async 'cards of tools'({ send, shows }) {
    await send('look')
    await shows('So: seen y.')
    await shows('look output-available')
  },
  async 'the result of an early call, while the model is writing'({ send, shows, server }) {
    await send('early')
    await shows('look output-available preliminary "seen x"')
    server.letGo()
    await shows('So: seen x.')
  },
  async 'a tool that fails'({ send, shows, text }) {
    await send('broken')
    await shows('broken output-error')
    await shows('So: ')
    expect(await text()).not.toContain('secret-host')
  },
  async 'progress, and a reload while the tool runs'({ send, shows, server, reload }) {
    await send('slow')
    await shows('slow output-available preliminary')
    await reload()
    await shows('"message":"half"')
    server.letGo()
    await shows('So: at last.')
  },
  async 'a reload while the model is writing, and after the end'({ send, shows, server, reload }) {
    await send('early')
    await shows('I begin.')
    await reload()
    await shows('I begin.')
    server.letGo()
    await shows('So: seen x.')
    await reload()
    await shows('So: seen x.')
  },
  async 'a background tool, and a reload while it runs'({ send, shows, server, reload }) {
    await send('build')
    await shows('build output-available preliminary')
    await reload()
    await shows('build output-available preliminary')
    server.letGo()
    await shows('build output-available "built"')
  },
  async 'a call of an agent inside that needs approval'({ send, shows, click, server }) {
    await send('clerk')
    await shows('pay approval-requested')
    await click('Allow')
    await shows('So: ')
    expect(server.did).toEqual(['pay ada'])
  },
  async 'an approval, and a reload before it'({ send, shows, click, server, reload }) {
    await send('mail')
    await shows('mail approval-requested')
    await reload()
    await click('Allow')
    await shows('So: sent to ada.')
    expect(server.did).toEqual(['mail ada'])
  },
  async 'two approvals, one of them denied'({ send, shows, click, server }) {
    await send('mail two')
    await click('Allow')
    await shows('mail approval-responded')
    await click('Deny')
    await shows('mail output-denied')
    await shows('So: ')
    expect(server.did).toEqual(['mail ada'])
  },
  async 'an approval with another input'({ send, shows, click, server }) {
    await send('mail')
    await shows('mail approval-requested')
    await click('Change')
    await shows('sent to eve.')
    expect(server.did).toEqual(['mail eve'])
  },
  async 'a tool of the page, which runs once'({ send, shows, ran, reload }) {
    await send('choose')
    await shows('So: red.')
    await reload()
    await shows('So: red.')
    expect(await ran()).toBeLessThanOrEqual(1)
  },
  async 'a question of a tool, and a reload before it'({ send, shows, click, fill, reload }) {
    await send('ask')
    await shows('How many?')
    await reload()
    await shows('How many?')
    await fill('count', '3')
    await click('Answer')
    await shows('So: {"count":3}.')
  },
  async 'the stop button, and the next message'({ send, shows, click, server }) {
    await send('slow')
    await expect.poll(() => server.did, { timeout: 60_000 }).toContain('slow')
    await click('Stop')
    await expect
      .poll(async () => (await server.threads.read('t')).turns[0]?.status, { timeout: 60_000 })
      .toBe('stopped')
    await send('Hello')
    await shows('You said Hello.')
  },
  async 'an edit of the first message'({ send, shows, text }) {
    await send('one')
    await shows('You said one.')
    await send('two')
    await shows('You said two.')
    await send('other', 'Edit')
    await shows('You said other.')
    expect(await text()).not.toContain('two')
  },
  async 'an edit of a later message'({ send, shows, text }) {
    await send('one')
    await shows('You said one.')
    await send('two')
    await shows('You said two.')
    await send('other', 'Cut')
    await shows('You said other.')
    expect(await text()).toContain('You said one.')
    expect(await text()).not.toContain('two')
  },
  async 'another answer'({ send, shows, click, server }) {
    await send('one')
    await shows('You said one.')
    await click('Try again')
    await expect.poll(() => server.read.length, { timeout: 60_000 }).toBe(2)
    await shows('You said one.')
  },
  async 'another answer, back to the first one, and a message'({ send, shows, click, isReady, server, words }) {
    await send('one')
    await shows('You said one.')
    await click('Try again')
    await expect.poll(() => server.read.length, { timeout: 60_000 }).toBe(2)
    // There is no branch before the other answer is.
    await isReady()
    await click('Back')
    await send('two')
    await shows(words.branch)
  },
  async 'a failure, and try again'({ send, shows, click }) {
    await send('fails')
    await shows('Something went wrong.')
    await click('Try again')
    await shows('You said fails.')
  },
  async 'a file'({ send, shows, server }) {
    await send('A picture', 'Attach')
    await shows('You said ')
    expect(JSON.stringify((await server.threads.read('t')).messages[0]?.message)).toContain('image/png')
  },
  async 'two tabs, of which the second is loaded again'({ send, shows, click, another, server, words }) {
    await send('mail')
    await shows('mail approval-requested')
    const other = await another()
    await other.shows('mail approval-requested')
    await other.click('Allow')
    await other.shows('So: sent to ada.')
    await click('Allow')
    await shows(words.late)
    expect(server.did).toEqual(['mail ada'])
  },
}

/** Features after which the page is loaded again before it is compared. A page that has stopped, or was refused, shows that until then. */
export const LOADED_AGAIN: readonly string[] = [
  'the stop button, and the next message',
  'another answer, back to the first one, and a message',
  'two tabs, of which the second is loaded again',
]
