interface GraphiqlTabOptions {
  origin: string;
  importId: string;
  development: boolean;
}

/** The first tabs of GraphiQL: three things to try. Lines fit half a window. */
export const graphiqlTabs = (options: GraphiqlTabOptions) => [explore(options), verify, upload(options)];

const explore = ({ development }: GraphiqlTabOptions) => ({
  query: `# Your fleets and the first of their vehicles.
# Ctrl-Enter runs this, Ctrl-Space completes.
${
  development
    ? '# The token under Headers is for company "demo".'
    : '# Your token goes under Headers, below:\n#   { "Authorization": "Bearer …" }'
}
query ExploreFleets {
  fleets(first: 10) {
    totalCount
    nodes {
      id
      name
      eligibilitySummary {
        eligible
        pending
      }
      vehicles(first: 5) {
        totalCount
        nodes {
          vin
          manufacturer { name }
          eligibility {
            status
            reason { message }
          }
        }
      }
    }
  }
}
`,
});

const verify = {
  query: `# Add vehicles and watch their manufacturers
# answer. The ▶ button asks which step to run.

# 1. A fleet. Put its id under Variables.
mutation AddFleet {
  createFleet(input: {
    name: "North"
    companyAddress: "1 Main Street, Berlin"
    email: "fleet@example.com"
    vat: "DE123456789"
  }) {
    fleet { id name }
  }
}

# 2. Vehicles. In the sandbox the last digit
#    of a VIN says what its answer will be.
mutation AddVehicles($fleetId: ID!) {
  addVehicles(input: {
    fleetId: $fleetId
    vins: [
      "WBA00000000000001" # eligible, at once
      "WBA00000000000007" # not eligible
      "WBA00000000000008" # eligible, in 10 s
      "WBA0000000000000O" # rejected: letter O
    ]
  }) {
    summary { created existing rejected }
    vehicles { vin eligibility { status } }
    rejected { value code message }
  }
}

# 3. Right after that: answers as they come.
subscription WatchEligibility($fleetId: ID!) {
  eligibilityChanged(fleetId: $fleetId) {
    eligibility {
      vin
      status
      manufacturer { name }
      reason { message }
    }
  }
}

# 4. Ask once more, to see 3 at work again.
mutation VerifyAgain {
  verifyEligibility(input: {
    vins: ["WBA00000000000008"]
  }) {
    eligibilities { vin status attempts }
  }
}
`,
  variables: JSON.stringify({ fleetId: '' }, null, 2),
};

const upload = ({ origin, importId, development }: GraphiqlTabOptions) => ({
  query: `# Follow the upload of a file. Run this first,
# then send the file from a terminal:
#
${development ? '# TOKEN=$(npm run -s token -- --company demo)' : '# TOKEN=…'}
# FLEET=… # the id of a fleet
# printf 'vin\\nWBA00000000000011\\n' > vins.csv
# curl ${origin}/graphql \\
#   -H "Authorization: Bearer $TOKEN" \\
#   -F operations='{"variables":{"input":{"file":null,
#  "fleetId":"'$FLEET'",
#  "importId":"${importId}"}},
#  "query":"mutation($input: ImportVehiclesInput!)'\\
# '{importVehicles(input: $input){summary{created'\\
# ' existing rejected}}}"}' \\
#   -F map='{"0":["variables.input.file"]}' \\
#   -F 0=@vins.csv
#
# Each file needs an importId of its own: any UUID.
subscription FollowUpload($importId: ID!) {
  importProgress(importId: $importId) {
    state
    received
    created
    existing
    rejectedCount
    fleet { name vehicleCount }
  }
}
`,
  variables: JSON.stringify({ importId }, null, 2),
});
