package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.gateway.admin.FleetHandler;
import picocli.CommandLine.Command;

/** {@code kvasir cluster}. */
@Command(name = "cluster", description = "Looks at a running cluster.", subcommands = ClusterCommand.Status.class)
public final class ClusterCommand extends GroupCommand {
  /** {@code kvasir cluster status}. */
  @Command(
      name = "status",
      description = "Prints nodes, cells and workers. Any node answers for all.",
      mixinStandardHelpOptions = true)
  static final class Status extends AdminRequestCommand {
    @Override
    JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
      return client.get(FleetHandler.CLUSTER);
    }

    @Override
    String format(JsonNode status) {
      return "%s%n%s%n%s".formatted(
          FleetTables.nodes(status.path("nodes")),
          FleetTables.homes(status.path("cells")),
          FleetTables.workers(status.path("workers")));
    }
  }
}
