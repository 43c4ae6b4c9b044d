import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frontMatter } from './front-matter.ts'

const read = async (text: string) => {
  const { fields, body } = await frontMatter(text)
  return [Object.fromEntries(fields), body]
}

test('texts are in any YAML form; nested values are ignored (N42)', async () => {
  const text = [
    '---',
    '# A head.',
    'name: one',
    'plain: a: b # not this',
    'double: "a \\"b\\": # c"',
    "single: 'it''s: # c'",
    'long: goes',
    '  on and',
    '',
    '  on',
    'below:',
    '  the key',
    'folded: >- # as one line',
    '  one',
    '  two',
    'literal: |',
    '  one',
    '    two',
    'commented: "a # b" # c',
    '"a key": 1.10',
    'nested:',
    '  name: two',
    'list:',
    '- a',
    '  - b',
    'flow: [a, b]',
    'empty:',
    '---',
    ' body',
    '---',
    'end',
  ].join('\n')
  const fields = {
    name: 'one',
    plain: 'a: b',
    double: 'a "b": # c',
    single: "it's: # c",
    long: 'goes on and\non',
    below: 'the key',
    folded: 'one two',
    literal: 'one\n  two',
    commented: 'a # b',
    'a key': '1.10',
    nested: '',
    list: '',
    flow: '',
    empty: '',
  }
  expect(await read(text)).toEqual([fields, ' body\n---\nend'])
  expect(await read('---\r\nname: one\r\n--- \r\nbody\r\n')).toEqual([{ name: 'one' }, 'body\r\n'])
  expect(await read('---\n---')).toEqual([{}, ''])
})

test('a plain value may contain colons, although YAML requires quotes (N42)', async () => {
  for (const newline of ['\n', '\r\n']) {
    const head = [
      'description: Use when: a file has "pages": many # or: few',
      '  or one',
      'context: fork # or: none',
      'last: see below:',
      'url: http://localhost:80',
    ]
    const [fields] = await read(['---', ...head, '---', ''].join(newline))
    expect(fields).toEqual({
      description: 'Use when: a file has "pages": many or one',
      context: 'fork',
      last: 'see below:',
      url: 'http://localhost:80',
    })
  }
})

test('invalid front matter is a SyntaxError that states the reason (N42)', async () => {
  for (const [text, problem] of [
    ['', 'does not begin'],
    ['name: one', 'does not begin'],
    ['----\nname: one\n---\n', 'does not begin'],
    ['---\nname: one\n', 'no end'],
    ['---\nname: one\nname: two\n---\n', 'name twice'],
    ['---\nname one\n---\n', 'no keys'],
    ['---\nname:one\n---\n', 'no keys'],
    ['---\n- name\n---\n', 'no keys'],
    ['---\nname: "one\n---\n', 'not YAML: Missing closing "quote'],
    ["---\nname: 'it's'\n---\n", 'not YAML: Unexpected scalar'],
    ["---\nname: '\n---\n", "not YAML: Missing closing 'quote"],
    [`---\nname: ${'x'.repeat(65_536)}\n---\n`, 'more than 65536'],
  ] as const)
    await expect(frontMatter(text)).rejects.toThrow(
      expect.objectContaining({ name: 'SyntaxError', message: expect.stringContaining(problem) as string }),
    )
})

test('any text is front matter or a SyntaxError, and a body is unchanged (N41)', async () => {
  const lines = fc.array(fc.oneof(fc.constantFrom('---', 'a: 1', "b: '", '  c', '- d', ''), fc.string()), {
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(lines, fc.string(), async (head, body) => {
      const text = ['---', ...head, '---', body].join('\n')
      try {
        expect(text.endsWith((await frontMatter(text)).body)).toBe(true)
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError)
      }
    }),
  )
})
