/** Combines many small requests into fewer larger ones, limits them, and caches the answers. */

/** Load the answers for several tags with one request. */
export type LoadMany<Question, Answer> = (
  question: Question,
  tags: string[],
  signal: AbortSignal,
) => Promise<Map<string, Answer>>;

interface Pending<Question, Answer> {
  key: string;
  question: Question;
  tag: string;
  signal: AbortSignal;
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
  isAlone?: boolean;
}

export interface Limits {
  /** Tags per request. */
  tags: number;
  /** Concurrent requests. */
  requests: number;
  /** Total weight of the cached answers. */
  weight: number;
}

/**
 * A loader that combines loads of single tags into shared requests.
 *
 * Loads in the same tick with the same key share a request. Aborted loads are dropped
 * before they are requested, and a request is cancelled once all its loads are aborted.
 * Answers are cached up to a total weight; the oldest are dropped first.
 */
export class Bundle<Question, Answer> {
  private waiting: Pending<Question, Answer>[] = [];
  private running = 0;
  private isScheduled = false;
  private readonly cache = new Map<string, Answer>();
  private weight = 0;

  constructor(
    private readonly loadMany: LoadMany<Question, Answer>,
    private readonly weigh: (answer: Answer) => number,
    private readonly limits: Limits = { tags: 3, requests: 2, weight: 8_000_000 },
  ) {}

  /** Return the cached answer, if there is one. */
  peek(key: string, tag: string): Answer | undefined {
    return this.cache.get(`${key}\n${tag}`);
  }

  load(key: string, question: Question, tag: string, signal: AbortSignal): Promise<Answer> {
    const cached = this.peek(key, tag);
    if (cached !== undefined) return Promise.resolve(cached);
    return new Promise((resolve, reject) => {
      this.waiting.push({ key, question, tag, signal, resolve, reject });
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    // Wait until this tick ends, to include all charts that came into view together.
    setTimeout(() => {
      this.isScheduled = false;
      while (this.running < this.limits.requests && this.start());
    });
  }

  private start(): boolean {
    for (const load of this.waiting) if (load.signal.aborted) load.reject(load.signal.reason);
    this.waiting = this.waiting.filter((load) => !load.signal.aborted);
    const first = this.waiting[0];
    if (!first) return false;
    const tags = new Set<string>();
    const taken = this.waiting.filter((load) => {
      const most = first.isAlone || load.isAlone ? 1 : this.limits.tags;
      if (load.key !== first.key || (tags.size >= most && !tags.has(load.tag))) return false;
      tags.add(load.tag);
      return true;
    });
    this.waiting = this.waiting.filter((load) => !taken.includes(load));
    void this.run(first.key, first.question, [...tags], taken);
    return true;
  }

  private async run(
    key: string,
    question: Question,
    tags: string[],
    loads: Pending<Question, Answer>[],
  ): Promise<void> {
    const controller = new AbortController();
    const check = () => {
      if (loads.every((load) => load.signal.aborted)) controller.abort();
    };
    for (const load of loads) load.signal.addEventListener("abort", check);
    this.running++;
    try {
      const answers = await this.loadMany(question, tags, controller.signal);
      for (const [tag, answer] of answers) this.store(`${key}\n${tag}`, answer);
      for (const load of loads) {
        const answer = answers.get(load.tag);
        if (answer !== undefined) load.resolve(answer);
        else load.reject(new Error(`The server returned no data for ${load.tag}.`));
      }
    } catch (error) {
      // A single tag may be the cause, so each tag is requested again separately.
      if (tags.length > 1 && !controller.signal.aborted) this.retry(loads);
      else for (const load of loads) load.reject(error);
    } finally {
      this.running--;
      for (const load of loads) load.signal.removeEventListener("abort", check);
      this.schedule();
    }
  }

  private retry(loads: Pending<Question, Answer>[]): void {
    this.waiting.push(...loads.map((load) => ({ ...load, isAlone: true })));
  }

  private store(name: string, answer: Answer): void {
    const previous = this.cache.get(name);
    if (previous !== undefined) this.weight -= this.weigh(previous);
    this.cache.delete(name);
    this.cache.set(name, answer);
    this.weight += this.weigh(answer);
    for (const [oldest, old] of this.cache) {
      if (this.weight <= this.limits.weight || oldest === name) break;
      this.cache.delete(oldest);
      this.weight -= this.weigh(old);
    }
  }
}
