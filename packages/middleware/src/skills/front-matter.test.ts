import fc from 'fast-check'
import { expect, test } from 'vitest'
import { frontMatter } from './front-matter.ts'

const read = (text: string) => {
  const { fields, body } = frontMatter(text)
  return [Object.fromEntries(fields), body]
}

test('texts are plain, quoted, go on in indented lines, or are blocks; what is nested is left out (N42)', () => {
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
    'folded: >-',
    '  one',
    '  two',
    'literal: |',
    '  one',
    '  two',
    'nested:',
    '  name: two',
    'list:',
    '- a',
    '  - b',
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
    long: 'goes on and on',
    folded: 'one two',
    literal: 'one\ntwo',
    nested: '',
    list: '',
    empty: '',
  }
  expect(read(text)).toEqual([fields, ' body\n---\nend'])
  expect(read('---\r\nname: one\r\n--- \r\nbody\r\n')).toEqual([{ name: 'one' }, 'body\r\n'])
  expect(read('---\n---')).toEqual([{}, ''])
})

test('what is no head is a SyntaxError that says why (N42)', () => {
  for (const [text, problem] of [
    ['', 'does not begin'],
    ['name: one', 'does not begin'],
    ['----\nname: one\n---\n', 'does not begin'],
    ['---\nname: one\n', 'no end'],
    ['---\nname: one\nname: two\n---\n', 'name twice'],
    ['---\nname one\n---\n', 'no known form'],
    ['---\nname:one\n---\n', 'no known form'],
    ['---\nname: "one\n---\n', 'quotes'],
    ["---\nname: 'it's'\n---\n", 'quotes'],
    ["---\nname: '\n---\n", 'quotes'],
  ] as const)
    expect(() => frontMatter(text)).toThrow(
      expect.objectContaining({ name: 'SyntaxError', message: expect.stringContaining(problem) as string }),
    )
})

test('any text is a head or a SyntaxError, and a body comes back as it was (N41)', () => {
  const lines = fc.array(fc.oneof(fc.constantFrom('---', 'a: 1', "b: '", '  c', '- d', ''), fc.string()), {
    maxLength: 8,
  })
  fc.assert(
    fc.property(lines, fc.string(), (head, body) => {
      const text = ['---', ...head, '---', body].join('\n')
      try {
        expect(text.endsWith(frontMatter(text).body)).toBe(true)
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError)
      }
    }),
  )
})
