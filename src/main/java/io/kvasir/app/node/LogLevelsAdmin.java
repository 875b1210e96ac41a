package io.kvasir.app.node;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.gateway.admin.AdminException;
import io.kvasir.gateway.admin.AdminRequest;
import io.kvasir.gateway.admin.AdminResource;
import io.kvasir.gateway.admin.AdminResponse;
import io.kvasir.gateway.admin.AdminRoute;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The resource {@code /admin/log/levels}: from which level on this process logs, and by which logger. Changes hold
 * until it ends. Thread-safe.
 */
final class LogLevelsAdmin implements AdminResource {
  private static final String PATH = "/admin/log/levels";
  private static final String EXPECTED =
      "send {\"logger\": \"io.kvasir.access\", \"level\": \"debug\"}; ROOT is the logger above all, and the level null"
          + " what the configuration has for it";
  private static final List<Level> LEVELS =
      List.of(Level.ERROR, Level.WARN, Level.INFO, Level.DEBUG, Level.TRACE, Level.OFF);
  private static final Pattern NAME = Pattern.compile("[A-Za-z_$][\\w$]*(\\.[\\w$]+)*");
  private static final int MAX_NAME = 200;

  /** So many loggers may have a level of their own: each is kept for good. */
  private static final int MAX_CHANGED = 100;

  private final LoggerContext loggers;
  /** The levels before they were changed, null for that of the logger above. */
  private final Map<String, @Nullable Level> configured = new HashMap<>();

  /** Over the process's loggers. */
  LogLevelsAdmin(LoggerContext loggers) {
    this.loggers = loggers;
  }

  @Override
  public List<AdminRoute> routes() {
    return List.of(AdminRoute.get(PATH, _ -> AdminResponse.ok(shown())), AdminRoute.post(PATH, this::change));
  }

  private synchronized AdminResponse change(AdminRequest request) throws AdminException {
    ObjectNode body = request.body(EXPECTED);
    String name = body.path("logger").asText("");
    if (!NAME.matcher(name).matches() || name.length() > MAX_NAME) {
      throw AdminException.invalid("logger", "logger has to be a name such as io.kvasir.access; " + EXPECTED);
    }
    Level level = level(body.get("level"));
    if (!configured.containsKey(name)) {
      if (configured.size() == MAX_CHANGED) {
        throw AdminException.of(409, "%d loggers have been changed already; use one above them".formatted(MAX_CHANGED));
      }
      configured.put(name, loggers.getLogger(name).getLevel());
    }
    loggers.getLogger(name).setLevel(level == null ? configured.get(name) : level);
    return AdminResponse.ok(shown());
  }

  private static @Nullable Level level(@Nullable JsonNode value) throws AdminException {
    if (value != null && value.isNull()) {
      return null;
    }
    String name = value == null ? "" : value.asText();
    return LEVELS.stream()
        .filter(level -> label(level).equals(name))
        .findFirst()
        .orElseThrow(() -> AdminException.invalid(
            "level", "level has to be error, warn, info, debug, trace, off or null, not '%s'".formatted(name)));
  }

  private ObjectNode shown() {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("scope", "node");
    ArrayNode levels = body.putArray("levels");
    for (Logger logger : loggers.getLoggerList()) {
      Level level = logger.getLevel();
      if (level != null) {
        levels.addObject().put("logger", logger.getName()).put("level", label(level));
      }
    }
    return body;
  }

  private static String label(Level level) {
    return level.levelStr.toLowerCase(Locale.ROOT);
  }
}
