/** Which run has asked a question. Its id begins with the run as it is, in letters, digits and underscores, so that no two questions have the same. */

/** The id of the run: of an agent inside a call, its own one. Undefined for a question of an earlier version of core. */
export function runThatAsked(questionId: string): string | undefined {
  const [, asked] = /^interrupt_(_91__34_\w+_93_)_\d+_\d+_\d+$/.exec(questionId) ?? []
  if (asked === undefined) return undefined
  const text = asked.replace(/_(\d+)_/g, (_, code: string) => String.fromCharCode(Number(code)))
  const [run]: [string] = JSON.parse(text)
  return run
}
