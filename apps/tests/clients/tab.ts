/** A tab with a chat, as trials use it. */

import type { Locator, Page } from 'playwright-core'

export interface Tab {
  /** Writes a message, and clicks on the button. */
  send(text: string, button?: string): Promise<void>
  click(button: string): Promise<void>
  fill(label: string, text: string): Promise<void>
  /** Waits until the tab shows this text. */
  shows(text: string): Promise<void>
  /** Waits until the tab does nothing. */
  isReady(): Promise<void>
  /** All text that it shows. */
  text(): Promise<string>
  /** How many tools it has run itself. */
  ran(): Promise<number>
  /** The messages of the client. */
  messages(): Promise<unknown>
  reload(): Promise<void>
}

/** The pages have the same labels and buttons for every client. */
export function pageTab(page: Page): Tab {
  const at = (found: Locator) => found.first().waitFor()
  return {
    async send(text, button = 'Send') {
      await page.getByLabel('Message').fill(text)
      await page.getByRole('button', { name: button, exact: true }).click()
    },
    click: (button) => page.getByRole('button', { name: button, exact: true }).first().click(),
    fill: (label, text) => page.getByLabel(label).fill(text),
    shows: (text) => at(page.getByText(text)),
    isReady: () => at(page.locator('output', { hasText: /^ready$/ })),
    text: async () => (await page.locator('main').textContent()) ?? '',
    ran: () => page.evaluate(() => window.ran.length),
    messages: () => page.evaluate(() => window.shown),
    async reload() {
      await page.reload()
      await page.getByLabel('Message').waitFor()
    },
  }
}
