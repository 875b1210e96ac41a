package io.kvasir.app.command;

import static org.assertj.core.api.Assertions.assertThat;

import com.typesafe.config.ConfigFactory;
import io.kvasir.app.Certificates;
import io.kvasir.app.config.KvasirConfig;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ServeCommandTest {
  private static final String CLIENT_KEY = "access.keys = [{ id = a, tenant = t, sha256 = \"%s\" }]\n"
      .formatted("ab".repeat(32));
  private static final String REACHABLE = CLIENT_KEY + "management.host = 0.0.0.0\n";
  private static final String ADMIN_KEY = "management.admin-keys = [an-admin-key-0123456789]\n";

  @Test
  void gateway_withoutKeys_isTold() throws Exception {
    assertThat(exposure("")).singleElement().asString().contains("this machine only", "kvasir keys create");
    assertThat(exposure("access.open = true")).singleElement().asString().contains("whoever reaches the gateway");
    assertThat(exposure(CLIENT_KEY)).isEmpty();
  }

  @Test
  void management_thatOtherMachinesReach_isTold(@TempDir Path directory) throws Exception {
    assertThat(exposure(REACHABLE)).singleElement().asString().contains("no admin key");
    assertThat(exposure(REACHABLE + ADMIN_KEY))
        .singleElement().asString().contains("in the clear", "kvasir.management.tls");
    Certificates made = new Certificates(directory).authority("ca").server("node", "ca");
    assertThat(
            exposure(
                REACHABLE + ADMIN_KEY + "management.tls { certificate = \"%s\", key = \"%s\" }"
                    .formatted(made.certificate("node"), made.key("node"))))
        .isEmpty();
    assertThat(exposure(CLIENT_KEY + ADMIN_KEY)).as("on loopback").isEmpty();
  }

  private static List<String> exposure(String own) throws Exception {
    return ServeCommand.exposure(KvasirConfig.of(ConfigFactory.parseString("kvasir {\n" + own + "\n}")));
  }
}
