package io.kvasir.app.config;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.admission.AdmissionSettings.ClassSettings;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.CellSettings;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** The configurations of conf/examples for fleets that are full. */
final class FullFleetExamplesTest {
  private static CellSettings example(String name) throws ConfigException {
    CellSettings cell =
        KvasirConfig.withoutEnvironment(ConfigFiles.parse(Path.of("conf", "examples", name))).fleet().cell();
    assertThat(cell.admission().on()).isTrue();
    return cell;
  }

  private static ClassSettings ofDefault(CellSettings cell) {
    return cell.admission().of(ServiceClass.DEFAULT);
  }

  @Test
  void chats_waitForSeconds() throws Exception {
    assertThat(ofDefault(example("full-fleet-chat.conf")).longestWait()).isLessThanOrEqualTo(Duration.ofSeconds(15));
  }

  @Test
  void agents_waitAsLongAsTheGuardHoldsThem() throws Exception {
    CellSettings cell = example("full-fleet-agents.conf");
    assertThat(cell.programs().guarded()).isTrue();
    assertThat(ofDefault(cell).longestWait().toMillis())
        .isGreaterThanOrEqualTo(cell.programs().guard().longestWaitMs());
  }

  @Test
  void batches_leaveShorterQueuesThanChatsAndWaitLonger() throws Exception {
    CellSettings cell = example("full-fleet-batch.conf");
    ClassSettings bulk = cell.admission().of(ServiceClass.BULK);
    assertThat(bulk.engineQueue()).isLessThan(ofDefault(cell).engineQueue());
    assertThat(bulk.longestWait()).isGreaterThan(ofDefault(cell).longestWait());
  }
}
