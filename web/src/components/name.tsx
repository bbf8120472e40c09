/** The name of a run; where it has no room it loses its middle: runs of a sweep differ at the end. */

const END = 14;

export function Name({ run }: { run: string }) {
  if (run.length <= 2 * END) return <span className="name">{run}</span>;
  return (
    <span className="name long">
      <span>{run.slice(0, -END)}</span>
      <span>{run.slice(-END)}</span>
    </span>
  );
}
