package io.kvasir.app.admin;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.app.terminal.Table;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code kvasir admin config}. */
@Command(
    name = "config",
    description = "Prints the settings in effect on the node and where each is from; what is secret as ***.",
    mixinStandardHelpOptions = true)
final class ConfigCommand extends AdminRequestCommand {
  @Parameters(arity = "0..1", paramLabel = "PATH", description = "Only those below it, such as cell.health.")
  private @Nullable String path;

  @Option(names = "--set", description = "Only those that differ from the defaults.")
  private boolean set;

  @Override
  JsonNode request(AdminClient client) throws AdminFailedException, InterruptedException {
    Map<String, @Nullable Object> query = new HashMap<>();
    query.put("path", path);
    query.put("set", set ? true : null);
    return client.get("/admin/config", query);
  }

  @Override
  String format(JsonNode answer) {
    Table table = new Table("SETTING", "VALUE", "FROM");
    for (JsonNode setting : answer.path("settings")) {
      JsonNode value = setting.path("value");
      String from = setting.path("from").asText();
      table.row(
          setting.path("path").asText(),
          value.isTextual() ? "\"" + value.asText() + "\"" : value.toString(),
          from.isEmpty() ? setting.path("source").asText() : from);
    }
    return table.toString();
  }
}
