import { afterAll, beforeAll, expect, test } from 'vitest'
import { click, expectEqual, isQuiet, lastOf, messagesOf, say, startTrial, type Trial } from './chat-trial.ts'
import { SECRET, STORY } from './model.ts'

let trial: Trial

beforeAll(async () => {
  trial = await startTrial()
})

afterAll(async () => {
  await trial?.[Symbol.asyncDispose]()
})

const mails = () => trial.printed.filter((line) => line.includes('a mail to')).length

test('a text is streamed, and what the page has is what the thread has (UI2)', async () => {
  const page = await trial.open('text')
  await say(page, 'hello')
  await isQuiet(page)
  expect(await lastOf(page)).toEqual(['Answer 1 to message 1.'])
  await expectEqual(trial, page, 'text')
})

test('a card shows its call, its progress and its head start while the model is still streaming (UI2, UI3)', async () => {
  const page = await trial.open('card')
  await say(page, 'weather')
  const card = page.getByRole('region', { name: 'weather' })
  await card.getByText('is being written').waitFor()
  await card.getByText('Station 1 of 4').waitFor()
  expect(await page.evaluate('chat.status')).toBe('streaming')
  expect(await lastOf(page)).toHaveLength(3)
  await card.getByText('s head start').waitFor()
  await isQuiet(page)
  await card.getByText('Rome: sunny').waitFor()
  await expectEqual(trial, page, 'card')
})

test('an approved call is made once, next to one that needs no approval (UI2, UI3)', async () => {
  const page = await trial.open('approve')
  const before = mails()
  await say(page, 'mail and weather, both')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await expectEqual(trial, page, 'approve')
  expect(mails()).toBe(before)
  await click(page, 'Allow')
  await page.getByText('The mail to ada@example.org is sent.').first().waitFor()
  await isQuiet(page)
  expect(mails()).toBe(before + 1)
  await expectEqual(trial, page, 'approve')
})

test('a call that is denied is not made (UI2, UI3)', async () => {
  const page = await trial.open('deny')
  const before = mails()
  await say(page, 'mail')
  await click(page, 'Deny')
  await page.getByText('It says').waitFor()
  await isQuiet(page)
  expect(mails()).toBe(before)
  await expectEqual(trial, page, 'deny')
})

test('a user who writes instead of answering has the question closed (UI2, TH3)', async () => {
  const page = await trial.open('instead')
  const before = mails()
  await say(page, 'mail and weather, both')
  await page.getByRole('button', { name: 'Allow' }).waitFor()
  await isQuiet(page)
  await say(page, 'no, hello')
  await page.getByText('Answer 1 to').waitFor()
  await isQuiet(page)
  expect(await page.getByRole('button', { name: 'Allow' }).count()).toBe(0)
  expect(mails()).toBe(before)
  await expectEqual(trial, page, 'instead')
})

test('a turn that is stopped keeps what was said, and the next question has its answer (UI2, TH2)', async () => {
  const page = await trial.open('stop')
  await say(page, 'story')
  await page.getByText('word9').waitFor()
  await click(page, 'Stop')
  await isQuiet(page)
  const [said = ''] = await lastOf(page)
  expect(STORY.startsWith(said)).toBe(true)
  expect(said).not.toBe(STORY)
  await expectEqual(trial, page, 'stop')
  await say(page, 'hello after a stop')
  await page.getByText('Answer 1 to').waitFor()
  await expectEqual(trial, page, 'stop')
})

test('a failed attempt is taken back, and the next one takes its place (UI1, UI2)', async () => {
  const page = await trial.open('flaky')
  await say(page, 'flaky')
  await page.getByText('This first try').waitFor()
  await page.getByText('Answer 2 to').waitFor()
  await isQuiet(page)
  expect(await page.getByText('This first try').count()).toBe(0)
  await expectEqual(trial, page, 'flaky')
})

test('a model failure is shown without the text of its error, and can be retried (UI2, UI4)', async () => {
  const page = await trial.open('fails')
  await say(page, 'this fails')
  await page.getByText('Something went wrong.').waitFor()
  await expectEqual(trial, page, 'fails')
  expect(await page.evaluate('chat.error.message')).toBe('Something went wrong.')
  expect(await page.content()).not.toContain(SECRET)
  await click(page, 'Try again')
  await page.getByText('Answer 2 to').waitFor()
  await expectEqual(trial, page, 'fails')
})

test('a tool that throws is a card without its words (UI2, UI4)', async () => {
  const page = await trial.open('broken')
  await say(page, 'weather in Atlantis')
  await page.getByText('This call has failed.').waitFor()
  await isQuiet(page)
  await expectEqual(trial, page, 'broken')
  const card = page.getByRole('region', { name: 'weather' })
  expect(await card.innerText()).not.toContain('internal')
})

test('a page that is loaded again in the middle goes on reading (UI2, TH5)', async () => {
  const page = await trial.open('reload')
  await say(page, 'weather')
  await page.getByText('Station 2 of 4').waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Stop' }).waitFor()
  await page.getByText('It says').waitFor()
  await expectEqual(trial, page, 'reload')
})

test('a second tab reads the same turn, and the first has what the second says when it is loaded again (UI2, TH5)', async () => {
  const first = await trial.open('tabs')
  await say(first, 'story')
  await first.getByText('word9').waitFor()
  const second = await trial.open('tabs')
  await second.getByRole('button', { name: 'Stop' }).waitFor()
  await isQuiet(first)
  await expectEqual(trial, first, 'tabs')
  await expectEqual(trial, second, 'tabs')
  await say(second, 'hello from the second tab')
  await second.getByText('Answer 1 to').waitFor()
  await expectEqual(trial, second, 'tabs')
  expect(await messagesOf(first)).toHaveLength(2)
  await first.reload()
  await first.getByText('Answer 1 to').waitFor()
  await expectEqual(trial, first, 'tabs')
})

test('a question that was answered in another tab is shown as answered, and the call is made once (UI2, TH8)', async () => {
  const first = await trial.open('answered')
  const before = mails()
  await say(first, 'mail')
  await first.getByRole('button', { name: 'Allow' }).waitFor()
  const second = await trial.open('answered')
  await click(second, 'Deny')
  await second.getByText('It says').waitFor()
  await click(first, 'Allow')
  await first.getByText('It says').waitFor()
  await expectEqual(trial, first, 'answered')
  await expectEqual(trial, second, 'answered')
  expect(mails()).toBe(before)
})

test('a message that is edited takes the place of what came later, and an answer can be had again (UI2)', async () => {
  const page = await trial.open('edit')
  await say(page, 'one')
  await isQuiet(page)
  await say(page, 'two')
  await isQuiet(page)
  await page.getByRole('button', { name: 'Edit' }).first().click()
  await page.getByLabel('Edited message').fill('one, edited')
  await click(page, 'Send again')
  await page.getByText('Answer 1 to message 1.').waitFor()
  await expectEqual(trial, page, 'edit')
  expect(await messagesOf(page)).toHaveLength(2)
  await click(page, 'Answer again')
  await page.getByText('Answer 2 to message 1.').waitFor()
  await expectEqual(trial, page, 'edit')
  expect(await messagesOf(page)).toHaveLength(2)
})

test('a tool of the page has what is clicked as its output (UI2, UI3)', async () => {
  const page = await trial.open('client')
  await say(page, 'dinner')
  await page.getByRole('button', { name: 'Noodles' }).waitFor()
  await expectEqual(trial, page, 'client')
  await click(page, 'Noodles')
  await page.getByText('It says').waitFor()
  await expectEqual(trial, page, 'client')
})
