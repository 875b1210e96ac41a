package io.kvasir.lab;

import io.kvasir.routing.Hashing;
import java.util.Arrays;
import java.util.List;

/**
 * Divides a trace that names no tenants among some: each program, or request without one, belongs to one of them. The
 * k-th gets a share in proportion to 1/k, so that the first is the largest; who gets what does not depend on the seed.
 */
final class Tenants {
  private Tenants() {}

  /** The trace with {@code count} tenants; as it is when that is 0 or when it names its own. */
  static WorkloadTrace divide(WorkloadTrace trace, int count) {
    List<LabRequest> requests = trace.requests();
    if (count == 0 || requests.stream().anyMatch(request -> !request.tenant().isEmpty())) {
      return trace;
    }
    double[] shares = shares(count);
    LabRequest[] divided = new LabRequest[requests.size()];
    for (int i = 0; i < divided.length; i++) {
      LabRequest request = requests.get(i);
      long key = request.session().isEmpty() ? Hashing.mix(i + 1L) : Hashing.mix(Hashing.of(request.session()));
      double at = (key >>> 11) * 0x1p-53;
      int tenant = 0;
      while (tenant < count - 1 && at >= shares[tenant]) {
        tenant++;
      }
      divided[i] = request.of("tenant-" + (tenant + 1));
    }
    return new WorkloadTrace(trace.blockSize(), Arrays.asList(divided));
  }

  /** Cumulative shares. */
  private static double[] shares(int count) {
    double[] cumulative = new double[count];
    double sum = 0;
    for (int tenant = 0; tenant < count; tenant++) {
      sum += 1.0 / (tenant + 1);
      cumulative[tenant] = sum;
    }
    for (int tenant = 0; tenant < count; tenant++) {
      cumulative[tenant] /= sum;
    }
    return cumulative;
  }
}
