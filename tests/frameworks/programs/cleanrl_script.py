"""A script in the style of CleanRL: one file, with hyperparameters as a text table."""

import random
import time

import gymnasium
import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

arguments = {"seed": 1, "learning_rate": 0.01, "total_timesteps": 200, "capture_video": False}
writer = SummaryWriter("logs/CartPole-v1__script__1")
rows = "\n".join(f"|{key}|{value}|" for key, value in arguments.items())
writer.add_text("hyperparameters", f"|param|value|\n|-|-|\n{rows}")
random.seed(1)
np.random.seed(1)
torch.manual_seed(1)
environments = gymnasium.vector.SyncVectorEnv(
    [lambda: gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("CartPole-v1"))]
)
policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=arguments["learning_rate"])
observations, _ = environments.reset(seed=1)
start = time.time()
for global_step in range(arguments["total_timesteps"]):
    logits = policy(torch.as_tensor(observations))
    distribution = torch.distributions.Categorical(logits=logits)
    actions = distribution.sample()
    observations, rewards, ends, cuts, infos = environments.step(actions.numpy())
    loss = -(distribution.log_prob(actions) * torch.as_tensor(rewards)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if "episode" in infos:
        writer.add_scalar("charts/episodic_return", infos["episode"]["r"][0], global_step)
        writer.add_scalar("charts/episodic_length", infos["episode"]["l"][0], global_step)
    if global_step % 10 == 0:
        writer.add_scalar("charts/learning_rate", optimizer.param_groups[0]["lr"], global_step)
        writer.add_scalar("losses/policy_loss", loss.item(), global_step)
        writer.add_scalar("losses/entropy", distribution.entropy().mean(), global_step)
        writer.add_scalar("losses/value", loss.detach().numpy(), global_step)
        writer.add_scalar("charts/SPS", int(global_step / (time.time() - start)), global_step)
environments.close()
writer.close()
