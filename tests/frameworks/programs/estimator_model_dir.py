"""The `model_dir` of a TensorFlow Estimator, with TensorFlow's writers of that time.

TensorFlow 2.16 removed Estimator. This writes the same files: training logs to the folder itself,
is killed and continues at its checkpoint, and each evaluation logs to `eval`.
"""

import os

import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()


def summary(**values):
    return v1.Summary(
        value=[v1.Summary.Value(tag=tag, simple_value=value) for tag, value in values.items()]
    )


def train(suffix, steps):
    writer = v1.summary.FileWriter("model", v1.get_default_graph(), filename_suffix=suffix)
    writer.add_session_log(v1.SessionLog(status=v1.SessionLog.START), steps[0])
    for step in steps:
        writer.add_summary(summary(loss=1 / (step + 1)), step)
    writer.close()


def evaluate(step):
    writer = v1.summary.FileWriter("model/eval", filename_suffix=f".{step}")
    writer.add_summary(summary(accuracy=step / 400, loss=2 / (step + 1)), step)
    path = v1.Summary.Value(tag="checkpoint_path")
    path.tensor.CopyFrom(tf.make_tensor_proto(f"model/model.ckpt-{step}"))
    writer.add_summary(v1.Summary(value=[path]), step)
    writer.close()


if __name__ == "__main__":
    v1.placeholder(tf.float32, name="inputs")
    train(".killed", range(0, 300, 100))
    evaluate(100)
    train(".resumed", range(200, 400, 100))
    evaluate(300)
    with open(os.path.join("model", "checkpoint"), "w") as file:
        file.write('model_checkpoint_path: "model.ckpt-300"\n')
