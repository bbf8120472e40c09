/** Many small requests as few larger ones, a few of them at once, and what they gave kept. */

/** How answers are asked for: for several tags at once, one answer for each. */
export type LoadMany<Question, Answer> = (
  question: Question,
  tags: string[],
  signal: AbortSignal,
) => Promise<Map<string, Answer>>;

interface Wish<Question, Answer> {
  key: string;
  question: Question;
  tag: string;
  signal: AbortSignal;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
  isAlone?: boolean;
}

export interface Limits {
  /** Tags in one request, requests at once, and the weight of the answers that are kept. */
  tags: number;
  requests: number;
  weight: number;
}

/**
 * A loader that answers wishes one by one and asks for them together.
 *
 * Wishes of one turn with the same key share a request. The ones that nobody waits for
 * any more are dropped before they are asked, and a request is cancelled once nobody
 * waits for any part of it. Answers are kept up to a weight, the oldest go first.
 */
export class Bundle<Question, Answer> {
  private waiting: Wish<Question, Answer>[] = [];
  private running = 0;
  private isPlanned = false;
  private readonly kept = new Map<string, Answer>();
  private weight = 0;

  constructor(
    private readonly loadMany: LoadMany<Question, Answer>,
    private readonly weigh: (answer: Answer) => number,
    private readonly limits: Limits = { tags: 3, requests: 2, weight: 8_000_000 },
  ) {}

  /** The answer that is kept, if there is one. */
  peek(key: string, tag: string): Answer | undefined {
    return this.kept.get(`${key}\n${tag}`);
  }

  load(key: string, question: Question, tag: string, signal: AbortSignal): Promise<Answer> {
    const before = this.peek(key, tag);
    if (before !== undefined) return Promise.resolve(before);
    return new Promise((resolve, reject) => {
      this.waiting.push({ key, question, tag, signal, resolve, reject });
      this.plan();
    });
  }

  private plan(): void {
    if (this.isPlanned) return;
    this.isPlanned = true;
    // After this turn, so that all charts that came into view together have asked.
    setTimeout(() => {
      this.isPlanned = false;
      while (this.running < this.limits.requests && this.start());
    });
  }

  private start(): boolean {
    for (const wish of this.waiting) if (wish.signal.aborted) wish.reject(wish.signal.reason);
    this.waiting = this.waiting.filter((wish) => !wish.signal.aborted);
    const first = this.waiting[0];
    if (!first) return false;
    const tags = new Set<string>();
    const taken = this.waiting.filter((wish) => {
      const most = first.isAlone || wish.isAlone ? 1 : this.limits.tags;
      if (wish.key !== first.key || (tags.size >= most && !tags.has(wish.tag))) return false;
      tags.add(wish.tag);
      return true;
    });
    this.waiting = this.waiting.filter((wish) => !taken.includes(wish));
    void this.run(first.key, first.question, [...tags], taken);
    return true;
  }

  private async run(
    key: string,
    question: Question,
    tags: string[],
    wishes: Wish<Question, Answer>[],
  ): Promise<void> {
    const controller = new AbortController();
    const check = () => {
      if (wishes.every((wish) => wish.signal.aborted)) controller.abort();
    };
    for (const wish of wishes) wish.signal.addEventListener("abort", check);
    this.running++;
    try {
      const answers = await this.loadMany(question, tags, controller.signal);
      for (const [tag, answer] of answers) this.keep(`${key}\n${tag}`, answer);
      for (const wish of wishes) {
        const answer = answers.get(wish.tag);
        if (answer !== undefined) wish.resolve(answer);
        else wish.reject(new Error(`The server sent nothing for ${wish.tag}.`));
      }
    } catch (error) {
      // One tag may be why; the others are not to miss theirs.
      if (tags.length > 1 && !controller.signal.aborted) this.retry(wishes);
      else for (const wish of wishes) wish.reject(error);
    } finally {
      this.running--;
      for (const wish of wishes) wish.signal.removeEventListener("abort", check);
      this.plan();
    }
  }

  private retry(wishes: Wish<Question, Answer>[]): void {
    this.waiting.push(...wishes.map((wish) => ({ ...wish, isAlone: true })));
  }

  private keep(name: string, answer: Answer): void {
    const before = this.kept.get(name);
    if (before !== undefined) this.weight -= this.weigh(before);
    this.kept.delete(name);
    this.kept.set(name, answer);
    this.weight += this.weigh(answer);
    for (const [oldest, old] of this.kept) {
      if (this.weight <= this.limits.weight || oldest === name) break;
      this.kept.delete(oldest);
      this.weight -= this.weigh(old);
    }
  }
}
