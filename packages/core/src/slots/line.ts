/** A list that is kept in the order of its members' numbers. */

export class Line<Member extends { readonly number: number }> {
  readonly #members: Member[] = []

  /** Behind those with a smaller number: mostly the end. */
  add(member: Member): void {
    const last = this.#members.at(-1)
    if (!last || last.number < member.number) this.#members.push(member)
    else this.#members.splice(this.#indexOf(member.number), 0, member)
  }

  /** Whoever is not in it is not looked for. */
  delete(member: Member): void {
    const index = this.#indexOf(member.number)
    if (this.#members[index] === member) this.#members.splice(index, 1)
  }

  /** Takes out the first. */
  shift(): Member | undefined {
    return this.#members.shift()
  }

  filter(holds: (member: Member) => boolean): Member[] {
    return this.#members.filter(holds)
  }

  /** Of the first whose number is not smaller. */
  #indexOf(number: number): number {
    let [from, to] = [0, this.#members.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#members[middle]?.number ?? 0) < number) from = middle + 1
      else to = middle
    }
    return from
  }
}
