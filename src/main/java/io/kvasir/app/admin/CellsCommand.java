package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import picocli.CommandLine.Command;

/** {@code kvasir admin cells}. */
@Command(
    name = "cells",
    description = "Prints cells, where they are at home, and their load. Any node answers for all.",
    mixinStandardHelpOptions = true)
final class CellsCommand extends AdminRequestCommand {
  @Override
  JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
    return client.get("/admin/cells");
  }

  @Override
  String format(JsonNode answer) {
    return FleetTables.cells(answer.path("cells")).toString();
  }
}
