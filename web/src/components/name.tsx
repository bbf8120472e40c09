/** The name of a run or a group by a label that no other has; pointing at it shows the whole name. */

export function Name({ name, label }: { name: string; label: string }) {
  return (
    <span className="name" title={name}>
      {label}
    </span>
  );
}
