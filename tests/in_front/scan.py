"""Scans a server's TLS with sslyze: address and CA file. Fails with what is weak."""

import sys
from pathlib import Path

from sslyze import (
    ScanCommand,
    Scanner,
    ServerNetworkLocation,
    ServerScanRequest,
    ServerNetworkConfiguration,
    CertificateInfoExtraArgument,
    ScanCommandsExtraArguments,
)

OLD = ["ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1"]
NEW = ["tls_1_2", "tls_1_3"]


def main() -> int:
    """Prints what is accepted; the number of faults."""
    host, port = sys.argv[1].rsplit(":", 1)
    location = ServerNetworkLocation("localhost", int(port), ip_address=host)
    commands = {ScanCommand.CERTIFICATE_INFO, ScanCommand.HEARTBLEED, ScanCommand.ROBOT,
                ScanCommand.TLS_COMPRESSION, ScanCommand.SESSION_RENEGOTIATION,
                ScanCommand.OPENSSL_CCS_INJECTION, ScanCommand.TLS_FALLBACK_SCSV}
    commands |= {ScanCommand[f"{name.upper()}_CIPHER_SUITES"] for name in OLD + NEW}
    extra = CertificateInfoExtraArgument(custom_ca_file=Path(sys.argv[2]))
    scanner = Scanner()
    scanner.queue_scans([ServerScanRequest(
        server_location=location, scan_commands=commands,
        network_configuration=ServerNetworkConfiguration("localhost"),
        scan_commands_extra_arguments=ScanCommandsExtraArguments(certificate_info=extra))])
    found = next(scanner.get_results()).scan_result
    faults = []

    def of(name: str):
        attempt = getattr(found, name)
        if attempt.result is None:
            faults.append(f"{name}: {attempt.error_reason}")
        return attempt.result

    for name in OLD + NEW:
        suites = of(f"{name}_cipher_suites")
        accepted = [one.cipher_suite.name for one in suites.accepted_cipher_suites] if suites else []
        if name in OLD and accepted:
            faults.append(f"{name} is spoken: {accepted}")
        if name in NEW and not accepted:
            faults.append(f"{name} is not spoken")
        weak = [one for one in accepted if not any(part in one for part in ("GCM", "CHACHA20"))]
        static = [one for one in accepted if name == "tls_1_2" and "ECDHE" not in one]
        faults += [f"{name}: {one} is weak" for one in weak + static]
        if accepted:
            print(f"{name}: {', '.join(accepted)}")
    if (certificates := of("certificate_info")) is not None:
        for one in certificates.certificate_deployments:
            trusted = [path for path in one.path_validation_results if path.was_validation_successful]
            if not trusted:
                faults.append("the chain is not trusted")
    for name, fault in [("heartbleed", "is_vulnerable_to_heartbleed"),
                        ("openssl_ccs_injection", "is_vulnerable_to_ccs_injection"),
                        ("tls_compression", "supports_compression")]:
        result = of(name)
        if result is not None and getattr(result, fault):
            faults.append(fault)
    renegotiation = of("session_renegotiation")
    if renegotiation is not None and renegotiation.is_vulnerable_to_client_renegotiation_dos:
        faults.append("clients may renegotiate")
    robot = of("robot")
    if robot is not None and not robot.robot_result.name.startswith("NOT_VULNERABLE"):
        faults.append(f"robot: {robot.robot_result.name}")
    for fault in faults:
        print(f"TLS: {fault}", file=sys.stderr)
    print(f"sslyze: {len(faults)} faults")
    return min(len(faults), 1)


sys.exit(main())
