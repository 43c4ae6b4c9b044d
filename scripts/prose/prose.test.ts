import { expect, test } from 'vitest'
import { installTools } from '../install-tools.ts'

installTools(import.meta.dirname)
const { proseLinter } = await import('./linter.ts')
const linter = await proseLinter()

/** The places where the linter finds something, and the words it found. */
async function found(path: string, text: string): Promise<readonly string[]> {
  const { messages } = await linter.lintText(text, path)
  return messages.map(({ line, column, message }) => `${line}:${column} ${message.split(/ => |:/)[0]}`)
}

test('words are found on a page, also over the end of a line, in a table, a link and a heading, and not in code', async () => {
  const page = [
    '# Reads but for one',
    'All tools but',
    'for one. [Not](https://example.com) `but for` that: [but for](https://example.com).',
    '',
    '| option | default |',
    '| --- | --- |',
    '| `model` | needed |',
    '',
    '```ts',
    '// but for code',
    '```',
  ]
  expect(await found('page.md', page.join('\n'))).toEqual([
    '1:9 but for',
    '2:11 but\nfor',
    '3:54 but for',
    '7:13 needed',
  ])
})

test('words are found in comments, docstrings and messages of a source, and not in its code', async () => {
  const source = [
    '/** A file but',
    ' * for one. Not `but for`, {@link but for}. */',
    'const mended = /mended it/ // It is mended',
    '// All but',
    '// for one.',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the source has a template
    'throw new Error(`${mended} is no function, ${"and is told" + mended} but for one`)',
    "const anew = 'anew'",
  ]
  expect(await found('source.ts', source.join('\n'))).toEqual([
    '1:12 but\n   for',
    '3:37 mended',
    '4:8 but\n   for',
    '6:28 is no',
    '6:51 is told',
    '6:70 but for',
  ])
})

test('in a test the titles are checked, and other strings are not', async () => {
  const source = [
    "test('it is told of alone', () => { say('it is told') })",
    "describe.skipIf(true)('all but for one', () => {})",
    "test.for([['but for one']])('%s, for ever', () => {})",
  ]
  expect(await found('some.test.ts', source.join('\n'))).toEqual([
    '1:10 is told',
    '1:21 alone',
    '2:28 but for',
    '3:34 for ever',
  ])
})

test('the id of a behaviour is found on a page, in a docstring and in a comment, and not in a test title, a decision or the quirks', async () => {
  expect(await found('docs/page.md', 'Reads start early (B12, UI3), `B12`, V8.')).toEqual(['1:20 B12', '1:25 UI3'])
  expect(await found('docs/quirks.md', 'Reads start early (B12).')).toEqual([])
  expect(await found('docs/decisions/0001-one.md', 'Reads start early (B12).')).toEqual([])
  expect(await found('source.ts', '/** Reads start early (B12). */\n// As B12 has it.\n')).toEqual([
    '1:24 B12',
    '2:7 B12',
  ])
  expect(await found('some.test.ts', "test('reads start early (B12)', () => {})")).toEqual([])
})

test('words that only the guides explain are found in the README, on the home page and in what the chat shows, and nowhere else', async () => {
  for (const page of ['/clone/README.md', '/clone/docs/index.md'])
    expect(await found(page, 'Eager tools, `effect`, and a head\nstart on the wire.')).toEqual([
      '1:1 Eager tools',
      '1:30 head\nstart',
      '2:14 wire',
    ])
  for (const page of ['/clone/docs/eager-tools.md', '/clone/packages/core/README.md', '/clone/examples/README.md'])
    expect(await found(page, 'Eager tools have an effect.')).toEqual([])
  const source = "// The effect of eager tools.\nconst shown = 'a head start'\n"
  expect(await found('/clone/examples/chat/page/a.ts', source)).toEqual(['2:18 head start'])
  expect(await found('/clone/examples/ask.ts', source)).toEqual([])
})
